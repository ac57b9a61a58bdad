"""Walks: what holds of every one of them, and that each has one start."""

from typing import get_args

import pytest

from pipeline.corpus.split import side
from pipeline.links.stored import StoredLinks
from pipeline.links.walks import Kind, Walk, Walks
from pipeline.text import contains
from tests.links.conftest import Opened

HOPS = 2, 3, 4


@pytest.fixture(scope="module")
def walks(wiki: StoredLinks) -> list[tuple[int, Walk]]:
    """All walks from some starts, with the start of each."""
    found, starts = Walks(wiki, "key"), range(0, len(wiki.corpus.passages), 13)
    asked = [(start, hops, kind) for start in starts for hops in HOPS for kind in get_args(Kind)]
    return [(start, walk) for start, hops, kind in asked for walk in found.best(kind, start, hops, most=8)]


def test_there_are_walks_of_all_kinds_and_lengths(walks: list[tuple[int, Walk]]) -> None:
    kinds = {(walk.kind, len(walk.stops)) for _, walk in walks}
    assert kinds == {(kind, hops) for kind in ("chain", "meeting", "conjunction") for hops in HOPS} - {("meeting", 2)}


def test_no_document_stands_in_a_walk_twice_and_no_bridge_elsewhere(
    wiki: StoredLinks, walks: list[tuple[int, Walk]]
) -> None:
    for _, walk in walks:
        passages = [wiki.corpus.passage(stop.passage) for stop in walk.stops]
        assert all(passages)
        assert len({passage.document_id for passage in passages}) == len(passages)
        texts = [f"{passage.title}\n{passage.text}" for passage in passages]
        if walk.kind == "conjunction":
            assert all(contains(text, walk.stops[0].bridge) for text in texts)
            continue
        for bridge in {stop.bridge for stop in walk.stops} - {""}:
            assert sum(contains(text, bridge) for text in texts) == 2


def test_chains_join_each_passage_to_the_next(wiki: StoredLinks, walks: list[tuple[int, Walk]]) -> None:
    for start, walk in walks:
        assert walk.stops[0].passage == wiki.corpus.passages[start].id
        if walk.kind == "chain":
            texts = [wiki.corpus.passage(stop.passage) for stop in walk.stops]
            for before, passage, stop in zip(texts, texts[1:], walk.stops[1:], strict=False):
                assert all(contains(f"{one.title}\n{one.text}", stop.bridge) for one in (before, passage))


def test_a_title_joins_its_own_document_to_those_that_name_it(wiki: StoredLinks, walks: list[tuple[int, Walk]]) -> None:
    joined = 0
    for _, walk in walks:
        for before, stop in zip(walk.stops, walk.stops[1:], strict=False) if walk.kind == "chain" else ():
            homes = {mention.place for mention in wiki.mentions(wiki.find(stop.bridge) or 0) if mention.home}
            if homes:
                joined += 1
                assert not homes.isdisjoint({wiki.corpus.place(before.passage), wiki.corpus.place(stop.passage)})
    assert joined > 40


def test_an_end_is_in_the_last_passage_alone(wiki: StoredLinks, walks: list[tuple[int, Walk]]) -> None:
    ends = 0
    for _, walk in walks:
        if walk.kind == "chain":
            *others, last = (wiki.corpus.passage(stop.passage) for stop in walk.stops)
            for end in walk.ends:
                ends += 1
                assert last.text[end.start : end.end] == end.text
                assert end.passages >= 10
                assert not any(contains(f"{other.title}\n{other.text}", end.text) for other in others)
    assert ends > 100


def test_no_two_starts_get_one_walk(wiki: StoredLinks) -> None:
    every, walked = Walks(wiki, "key"), 0
    for hops in (2, 3):
        owner: dict[object, int] = {}
        last: dict[object, int] = {}
        for start in range(0, len(wiki.corpus.passages), 4):
            for walk in every.best("chain", start, hops, most=8):
                walked += 1
                passages = tuple(stop.passage for stop in walk.stops)
                assert owner.setdefault(min(passages, passages[::-1]), start) == start
                assert last.setdefault(passages[-2:], start) == start
    assert walked > 850


def test_walks_rest_on_key_and_start_alone(wiki: StoredLinks) -> None:
    starts = range(0, len(wiki.corpus.passages), 151)
    first = [Walks(wiki, "key").best("chain", start, 3) for start in starts]
    again = Walks(wiki, "key")
    assert [again.best("chain", start, 3) for start in reversed(starts)] == first[::-1]
    assert [Walks(wiki, "other").best("chain", start, 3) for start in starts] != first


def test_a_chain_of_three_towns(linked: Opened) -> None:
    links = linked(
        "The long bridge at the market was paid for by Ada Brannick in the end.",
        "For some years Ada Brannick taught the children of a village called Upper Issel by all.",
        "A mill that stood near Upper Issel was sold for a small sum when the river fell dry.",
    )
    found = [walk for start in range(3) for walk in Walks(links, "key").best("chain", start, 3)]
    assert len(found) == 1  # from one of its two ends
    assert {stop.passage for stop in found[0].stops} == {"d0#0", "d1#0", "d2#0"}
    assert {stop.bridge for stop in found[0].stops} == {"", "Ada Brannick", "Upper Issel"}


def test_walks_keep_to_their_side_of_the_split(wiki: StoredLinks) -> None:
    found = {of: Walks(wiki, "key", of) for of in ("train", "eval")}
    passed = dict.fromkeys(found, 0)
    for start in range(0, len(wiki.corpus.passages), 7):
        of = side(wiki.corpus.passages[start].document_id)
        for walk in (
            *found[of].best("chain", start, 2),
            *found[of].best("meeting", start, 3),
            *found[of].best("conjunction", start, 2),
        ):
            passed[of] += 1
            assert {side(stop.passage.rpartition("#")[0]) for stop in walk.stops} == {of}
    assert passed["train"] > 500
    assert passed["eval"] > 0
