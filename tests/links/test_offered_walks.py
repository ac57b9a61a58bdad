"""What an author is offered: walks that a search for the words at their end does not make needless."""

import random
from pathlib import Path

import pytest

from pipeline.links.answer_candidates import ends
from pipeline.links.offered_walks import offers, related
from pipeline.links.stored import StoredLinks
from pipeline.links.walks import Walks
from pipeline.retrieval.open_retriever import open_retriever
from pipeline.text import contains
from tests.links.conftest import FILLER, Opened

CHAIN = (
    "The long bridge at the market was paid for by Ada Brannick in the end.",
    "For some years Ada Brannick taught the children of a village called Upper Issel by all.",
)
HOPS = 2, 3, 4


def built(count: int) -> list[dict[str, str]]:
    """Documents that end as many others do."""
    chance = random.Random(1)
    words = [" ".join(chance.sample(FILLER.split(), 12)) for _ in range(count)]
    return [
        {"id": f"b{n}", "title": f"House {n}", "text": f"The {some}. It was built in {1700 + n}."}
        for n, some in enumerate(words)
    ]


@pytest.mark.parametrize(
    ("last", "found"),
    [
        ("A mill stood near Upper Issel when the river fell dry. It was built in 1650.", True),
        ("A mill stood near Upper Issel when the river fell dry. The saltworks was built in 1650.", False),
    ],
    ids=["as others", "in words of its own"],
)
async def test_an_end_that_its_own_words_find_is_not_offered(
    linked: Opened, tmp_path: Path, last: str, found: bool
) -> None:
    links = linked(*CHAIN, last, *built(12), pad=500)
    retriever = open_retriever("bm25", links.corpus, tmp_path)
    # The key says from which of its two ends the chain is walked.
    walks = next(walks for walks in (Walks(links, key) for key in "abcdefgh") if walks.best("chain", 0, 3))
    assert [end.text for end in walks.best("chain", 0, 3)[0].ends] == ["1650"]
    assert [offer.ends for offer in await offers(walks, 0, 3, [retriever], 5)] == [("1650",)] * found


async def test_offers_of_all_kinds_rest_on_key_and_start_alone(wiki: StoredLinks, tmp_path: Path) -> None:
    retriever = open_retriever("bm25", wiki.corpus, tmp_path)
    starts, kinds = range(0, len(wiki.corpus.passages), 291), set[str]()
    for hops in HOPS:
        first = [await offers(Walks(wiki, "key"), start, hops, [retriever], 5) for start in starts]
        again = Walks(wiki, "key")
        assert [await offers(again, start, hops, [retriever], 5) for start in reversed(starts)] == first[::-1]
        for offer in (offer for some in first for offer in some):
            kinds.add(offer.walk.kind)
            assert tuple(passage.id for passage in offer.passages) == tuple(stop.passage for stop in offer.walk.stops)
            held = [any(contains(passage.text, end) for end in offer.ends) for passage in offer.passages]
            conjunction = offer.walk.kind == "conjunction"
            assert held == [conjunction or number == offer.walk.last for number in range(len(held))]
    assert kinds == {"chain", "meeting", "conjunction"}


def test_related_passages_hold_the_phrase(wiki: StoredLinks) -> None:
    seen = 0
    for place in range(0, len(wiki.corpus.passages), 47):
        for one in related(Walks(wiki, "key", "train"), place):
            seen += 1
            assert contains(f"{wiki.passage(place).title} {wiki.passage(place).text}", one.phrase)
            for passage, said in zip(one.passages, one.sentences, strict=True):
                assert contains(f"{passage.title}\n{said}", one.phrase)
    assert seen > 50


async def test_an_end_that_stands_twice_is_offered_where_neither_place_gives_it_away(
    linked: Opened, tmp_path: Path
) -> None:
    last = (
        "A mill stood near Upper Issel when the river fell dry. The saltworks was built in 1650. It was built in 1650."
    )
    links = linked(*CHAIN, last, *built(12), pad=500)
    retriever = open_retriever("bm25", links.corpus, tmp_path)
    walks = next(walks for walks in (Walks(links, key) for key in "abcdefgh") if walks.best("chain", 0, 3))
    assert [end.text for end in walks.best("chain", 0, 3)[0].ends] == ["1650", "1650"]
    assert await offers(walks, 0, 3, [retriever], 5) == []


def test_a_long_document_leaves_room_for_others_that_hold_the_phrase(linked: Opened) -> None:
    line = "In the year {} an old town by Orm Castle was seen by some who came to walk and wrote of it in a book."
    castle = {"id": "a", "title": "Orm Castle", "text": " ".join(line.format(n) for n in range(1801, 1840))}
    told = (
        "The mill was made of wood by a cousin of the lord of Orm Castle.",
        "From its roof one sees Orm Castle when the sky is clear and no smoke is near.",
        "Grain was once brought here from Orm Castle by cart along the road each autumn.",
    )
    mills = [{"id": f"m{n}", "title": f"Mill {n}", "text": text} for n, text in enumerate(told)]
    links = linked(castle, *mills, pad=400)
    start = links.corpus.place("m2#0")
    assert start is not None
    shared = next(one for one in related(Walks(links, "key"), start) if one.phrase == "Orm Castle")
    assert [passage.id for passage in shared.passages] == ["a#0", "m0#0", "m1#0"]


async def test_an_end_may_be_a_phrase_of_a_script_without_capitals(linked: Opened, tmp_path: Path) -> None:
    shared = ("بنى المهندس الطاحونة قرب النهر برانيكوف الصغير. ثم عاد برانيكوف الصغير إلى القرية.",
              "عاش الرجل قرب برانيكوف الصغير في الشتاء. ثم مات برانيكوف الصغير هنا.")  # fmt: skip
    others = [f"عاش الرجل قرب {place} مدة طويلة من الزمن" for place in ("المدرسة", "الجسر", "السوق")]
    links = linked(*shared, *others)
    held = next(number for number in range(len(links)) if "برانيكوف الصغير" in links.text(number))
    found = [(end.words, end.text, end.passages) for end in ends(links, 1)]
    assert found == [("الرجل قرب", links.text(held), 4)]
    assert not ends(links, 2)
