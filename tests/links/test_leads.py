"""A lead joins two passages, of which the second does not name what the first is about."""

import pytest

from pipeline.links.leads import Lead, find_leads
from pipeline.links.related import SideLinks
from pipeline.links.stored import StoredLinks
from pipeline.text import contains
from pipeline.types import Passage
from tests.links.conftest import Opened

BAY = {
    "id": "bay",
    "title": "Lantern Bay",
    "text": "Nobody now recalls the film that Ada Holm directed here in a cold spring.",
}
HOLM = {
    "id": "holm",
    "title": "Ada Holm",
    "text": "Ada Holm was a painter who came to the coast late in her life. "
    "She was born in 1871 and went to school with a cousin of Ivo Brandt in a small town.",
}
BRANDT = {
    "id": "brandt",
    "title": "Ivo Brandt",
    "text": "He sailed round the cape in 1902 and then he never spoke of it.",
}
PIER = {
    "id": "pier",
    "title": "Copper Pier",
    "text": "From its end one sees Lantern Bay when the sky is clear and still.",
}


def find(opened: StoredLinks, document_id: str) -> list[Lead]:
    return find_leads(SideLinks(opened), start(opened, document_id))


def start(opened: StoredLinks, document_id: str) -> Passage:
    return next(passage for passage in opened.corpus.passages if passage.document_id == document_id)


def describe(leads: list[Lead]) -> list[tuple[str, str, str]]:
    return [(lead.passage.title, lead.name, lead.page.title) for lead in leads]


def test_leads_start_in_the_document_then_end_there_then_go_further(open_documents_links: Opened) -> None:
    leads = find(open_documents_links(BAY, HOLM, BRANDT, PIER, pad=400), "bay")
    assert describe(leads) == [
        ("Lantern Bay", "Ada Holm", "Ada Holm"),
        ("Copper Pier", "Lantern Bay", "Lantern Bay"),
        ("Ada Holm", "Ivo Brandt", "Ivo Brandt"),
    ]
    assert leads[0].sentence == BAY["text"]
    assert leads[0].fact.startswith("She was born in 1871")


def test_page_that_names_the_start_is_no_lead(open_documents_links: Opened) -> None:
    holm = HOLM | {"text": f"{HOLM['text']} Her film of Lantern Bay is lost."}
    pier = PIER | {"text": f"{PIER['text']} Ada Holm once fell from it into the sea below."}
    opened = open_documents_links(BAY, holm, BRANDT, pier, pad=400)
    assert ("Lantern Bay", "Ada Holm", "Ada Holm") not in describe(find(opened, "bay"))
    assert ("Copper Pier", "Ada Holm", "Ada Holm") in describe(find(opened, "pier"))


def test_thing_without_a_document_leads_to_others_that_name_it_but_no_further(open_documents_links: Opened) -> None:
    quay = {
        "id": "quay",
        "title": "Grey Quay",
        "text": "In 1888 the old boat of Una Vik was moored beside Ivo Brandt for a year.",
    }
    mill = {
        "id": "mill",
        "title": "Grey Mill",
        "text": "It was a cousin of Una Vik who built the wheel and the house of it.",
    }
    opened = open_documents_links(quay, mill, BRANDT, pad=400)
    leads = find(opened, "mill")
    assert describe(leads) == [("Grey Mill", "Una Vik", "Grey Quay")]
    assert not leads[0].is_titled
    assert describe(find(opened, "quay")) == [("Grey Quay", "Ivo Brandt", "Ivo Brandt")]


def test_unknown_passage_has_no_leads(open_documents_links: Opened) -> None:
    opened = open_documents_links(BAY, HOLM, BRANDT, PIER, pad=400)
    unknown = start(opened, "bay").model_copy(update={"id": "elsewhere#0", "document_id": "elsewhere"})
    assert find_leads(SideLinks(opened), unknown) == []


@pytest.mark.slow
def test_leads_of_a_real_corpus_hold_what_they_promise(wiki: StoredLinks) -> None:
    links, count = SideLinks(wiki, "train"), 0
    for index in range(0, len(wiki.corpus.passages), 47):
        for lead in find_leads(links, wiki.passage(index)):
            count += 1
            assert contains(lead.sentence, lead.name)
            assert lead.passage.document_id != lead.page.document_id
            assert not contains(f"{lead.page.title}\n{lead.page.text}", lead.passage.title)
    assert count > 50
