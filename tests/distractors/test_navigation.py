"""The rule of constrained navigation holds for every sequence of searches."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config.loop import TeacherConfig
from pipeline.distractors.navigation import Navigation
from pipeline.types import Hit, Passage
from tests.passages import Shelf, is_synthetic, passage

WORDS = "amber birch cedar dune elder fern".split()
PLAIN = [passage(f"d{n}", f"Place {n}", " ".join(WORDS[: 1 + n % 6])) for n in range(24)]
LIES = [passage(f"synthetic-{n}", f"Lie {n}", " ".join(WORDS[n : n + 3])) for n in range(4)]
SHELF = Shelf(*PLAIN)
QUERIES = st.lists(st.lists(st.sampled_from([*WORDS, "granite"]), min_size=1, max_size=3), min_size=1, max_size=9)


def run_searches(
    queries: Sequence[str], k: int, rule: TeacherConfig, key: str = "key", lies: Sequence[Passage] = LIES
) -> list[list[Hit]]:
    async def go() -> list[list[Hit]]:
        navigation = Navigation(SHELF, lies, rule, key)
        return [await navigation.search(query, k) for query in queries]

    return asyncio.run(go())


def rank(query: str, passages: Sequence[Passage]) -> list[str]:
    hits = asyncio.run(Shelf(*passages).search(query, len(passages)))
    return [hit.passage.id for hit in hits]


@given(
    queries=QUERIES, k=st.integers(2, 8), injected=st.integers(1, 4), again=st.floats(0, 1), key=st.text(max_size=4),
    lies=st.integers(0, 4),
)  # fmt: skip
@settings(max_examples=150)
def test_searches_follow_the_written_rule(
    queries: list[list[str]], k: int, injected: int, again: float, key: str, lies: int
) -> None:
    texts, some_lies = [" ".join(query) for query in queries], LIES[:lies]
    rule = TeacherConfig(injected=injected, injected_again=again)
    before = False
    for step, (query, hits) in enumerate(zip(texts, run_searches(texts, k, rule, key, some_lies), strict=True)):
        ids = [hit.passage.id for hit in hits]
        lies_found = {i for i in ids if is_synthetic(i)}
        best = rank(query, some_lies)[: min(injected, k - 1)]
        if step == 0:
            assert lies_found == set(best)
        elif before:
            assert not lies_found
        else:
            assert lies_found in (set(), set(best))
            assert lies_found or again < 1 or not best
            assert not lies_found or again > 0
        plain_ids = [i for i in ids if not is_synthetic(i)]
        expected = rank(query, PLAIN)[: k - len(lies_found)]
        assert sorted(plain_ids) == sorted(expected)
        assert lies_found or plain_ids == expected
        assert len(set(ids)) == len(ids) <= k
        before = bool(lies_found)


def test_with_the_papers_numbers_the_first_search_returns_two() -> None:
    hits = run_searches(["amber birch cedar dune"], 5, TeacherConfig())[0]
    assert len(hits) == 5
    assert sum(is_synthetic(hit.passage.id) for hit in hits) == 2


def test_at_probability_one_every_second_search_returns_some_and_at_zero_only_the_first() -> None:
    queries = [f"{word} cedar" for word in WORDS]
    for again, pattern in ((1.0, [True, False] * 3), (0.0, [True] + [False] * 5)):
        results = run_searches(queries, 5, TeacherConfig(injected_again=again))
        assert [any(is_synthetic(hit.passage.id) for hit in hits) for hits in results] == pattern


def test_at_the_default_probability_half_of_the_searches_return_some() -> None:
    drawn = []
    for key in range(400):
        _, _, third = run_searches(["cedar", "cedar dune", "cedar fern"], 5, TeacherConfig(), str(key))
        drawn.append(any(is_synthetic(hit.passage.id) for hit in third))
    assert 0.44 < sum(drawn) / len(drawn) < 0.56


def test_a_forced_search_without_results_blocks_nothing() -> None:
    rule = TeacherConfig(injected_again=1)
    first, second = run_searches(["fern", "cedar"], 5, rule, lies=LIES[:1])
    assert not any(is_synthetic(hit.passage.id) for hit in first)
    assert len(first) == len(rank("fern", PLAIN)[:5])
    assert any(is_synthetic(hit.passage.id) for hit in second)


def test_the_order_is_shuffled_by_the_key() -> None:
    orders = {
        tuple(is_synthetic(hit.passage.id) for hit in run_searches(["cedar dune"], 5, TeacherConfig(), str(key))[0])
        for key in range(60)
    }
    assert len(orders) == 10  # all ways to place two among five


def test_results_depend_only_on_the_sequence_of_searches() -> None:
    queries = [random.Random(7).choice(WORDS) + " cedar" for _ in range(6)]
    assert run_searches(queries, 5, TeacherConfig()) == run_searches(queries, 5, TeacherConfig())
    changed = run_searches(["birch", *queries[1:]], 5, TeacherConfig(), "key")
    assert changed[1:] != run_searches(["amber", *queries[1:]], 5, TeacherConfig(), "key")[1:]


@pytest.mark.parametrize("k", [1, 2])
def test_one_passage_of_the_index_is_always_returned(k: int) -> None:
    hits = run_searches(["cedar dune"], k, TeacherConfig())[0]
    assert sum(not is_synthetic(hit.passage.id) for hit in hits) == 1
    assert len(hits) == k


def test_shown_passages_can_be_opened() -> None:
    navigation = Navigation(SHELF, LIES, TeacherConfig(), "key")
    assert asyncio.run(navigation.get(LIES[0].id)) == LIES[0]
    assert asyncio.run(navigation.get(PLAIN[0].id)) == PLAIN[0]
    assert asyncio.run(navigation.document(LIES[0].document_id)) == [LIES[0]]
    assert asyncio.run(navigation.document(PLAIN[0].document_id)) == [PLAIN[0]]
