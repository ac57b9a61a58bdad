"""Related passages share a phrase, and coverage counts the passages that share any."""

import pytest

from pipeline.links.coverage import coverage
from pipeline.links.related import SideLinks
from pipeline.links.stored import StoredLinks
from pipeline.text import contains
from tests.links.conftest import Opened


@pytest.mark.slow
def test_related_passages_hold_the_phrase(wiki: StoredLinks) -> None:
    related_count, links = 0, SideLinks(wiki, "train")
    for index in range(0, len(wiki.corpus.passages), 47):
        for related in links.related(wiki.passage(index)):
            related_count += 1
            assert contains(f"{wiki.passage(index).title} {wiki.passage(index).text}", related.phrase)
            for passage, sentence in zip(related.passages, related.sentences, strict=True):
                assert contains(f"{passage.title}\n{sentence}", related.phrase)
    assert related_count > 50


def test_a_long_document_leaves_room_for_others_that_hold_the_phrase(open_documents_links: Opened) -> None:
    line = "In the year {} an old town by Orm Castle was seen by some who came to walk and wrote of it in a book."
    castle = {"id": "a", "title": "Orm Castle", "text": " ".join(line.format(n) for n in range(1801, 1840))}
    texts = (
        "The mill was made of wood by a cousin of the lord of Orm Castle.",
        "From its roof one sees Orm Castle when the sky is clear and no smoke is near.",
        "Grain was once brought here from Orm Castle by cart along the road each autumn.",
    )
    mills = [{"id": f"m{n}", "title": f"Mill {n}", "text": text} for n, text in enumerate(texts)]
    links = open_documents_links(castle, *mills, pad=400)
    start = next(passage for passage in links.corpus.passages if passage.id == "m2#0")
    shared = next(related for related in SideLinks(links).related(start) if related.phrase == "Orm Castle")
    assert [passage.id for passage in shared.passages] == ["a#0", "m0#0", "m1#0"]


def test_coverage_counts_linked_passages(open_documents_links: Opened, wiki: StoredLinks) -> None:
    assert coverage(wiki).linked > 0.8
    assert coverage(open_documents_links("Nothing of note was ever said of this place.")).phrases == 0
