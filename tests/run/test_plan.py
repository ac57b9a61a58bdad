"""The order is fixed; the plan is its shortest prefix that holds the wanted pairs."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import How
from pipeline.errors import UsageError
from pipeline.run.plan import Frontier, Order, askable, planned
from pipeline.store.journal import Head
from pipeline.types import Status
from tests.run.fakes import FakeCorpus, config, corpus, passage

STATUSES = (Status.ACCEPTED, Status.REJECTED, Status.FAILED)


def first(order: Order, count: int) -> list[str]:
    return [order[n].seed.key for n in range(count)]


def test_the_order_depends_on_configuration_and_corpus_alone(tmp_path: Path) -> None:
    keys = first(Order(config(tmp_path), corpus(50)), 120)
    assert len(set(keys)) == 120
    assert first(Order(config(tmp_path / "elsewhere", concurrency=64, pairs=7), corpus(50)), 120) == keys
    shuffled = FakeCorpus(corpus(50).passages[::-1])
    assert first(Order(config(tmp_path), shuffled), 120) == keys
    assert not set(first(Order(config(tmp_path), FakeCorpus(corpus(50).passages, "g" * 64)), 120)) & set(keys)
    other = config(tmp_path).model_copy(update={"seed": 1})
    assert not set(first(Order(other, corpus(50)), 120)) & set(keys)


def test_every_passage_is_drawn_once_before_any_is_drawn_again(tmp_path: Path) -> None:
    order = Order(config(tmp_path), corpus(50, short=10))
    seeds = [order[n] for n in range(80)]
    assert {p.seed.passage.id for p in seeds[:40]} == {p.seed.passage.id for p in seeds[40:]}
    assert [p.seed.draw for p in seeds] == [0] * 40 + [1] * 40
    assert [p.seed.passage.id for p in seeds[:40]] != [p.seed.passage.id for p in seeds[40:]]
    assert [p.order for p in seeds] == sorted(p.order for p in seeds)
    assert sum(order.dropped(40).values()) == order.dropped(40)["too_short"] <= 10 == order.dropped(41)["too_short"]


def test_targets_types_and_sides_are_drawn_evenly(tmp_path: Path) -> None:
    order = Order(config(tmp_path), corpus(3000))
    seeds = [order[n].seed for n in range(3000)]
    for target, kind in itertools.product((2, 3, 4), {seed.answer_type for seed in seeds}):
        assert 260 < sum(seed.target_steps == target and seed.answer_type == kind for seed in seeds) < 410
    assert 100 < sum(seed.side == "eval" for seed in seeds) < 200


def test_a_corpus_without_a_seed_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing can be asked .*too_short 5"):
        askable(corpus(5, short=5))
    with pytest.raises(UsageError, match="there are none"):
        askable(FakeCorpus(()))
    askable(FakeCorpus((passage(0, "Too short."), passage(1))))


def truth(statuses: list[Status], how: How) -> int:
    """The length of the plan, the slow way."""
    if how.seeds is not None:
        return min(how.seeds, len(statuses))
    most = min(how.max_seeds or 10 * how.pairs, len(statuses))
    for length in range(most + 1):
        if sum(status is Status.ACCEPTED for status in statuses[:length]) == how.pairs:
            return length
    return most


@given(
    statuses=st.lists(st.sampled_from(STATUSES), min_size=1, max_size=40),
    how=st.builds(
        How, pairs=st.integers(1, 8), seeds=st.none() | st.integers(1, 45), max_seeds=st.none() | st.integers(1, 45)
    ),
    chance=st.randoms(use_true_random=False),
)
def test_the_plan_is_the_same_whatever_ends_first(statuses: list[Status], how: How, chance: object) -> None:
    length = truth(statuses, how)
    indices = list(range(len(statuses)))
    chance.shuffle(indices)  # type: ignore[attr-defined]
    frontier = Frontier(how)
    for index in indices:
        if index < frontier.horizon():
            frontier.end(index, statuses[index])
        assert frontier.length <= length <= max(frontier.horizon(), length)
    assert frontier.length == length
    heads = [
        Head(key=str(n), order=f"{n:04}", status=status, reason="", target_steps=1) for n, status in enumerate(statuses)
    ]
    assert [int(head.key) for head in planned(heads[::-1], how)] == list(range(length))


def test_the_horizon_shrinks_as_soon_as_enough_are_accepted() -> None:
    frontier = Frontier(How(pairs=2, max_seeds=30))
    assert frontier.horizon() == 30
    frontier.end(7, Status.ACCEPTED)
    frontier.end(9, Status.ACCEPTED)
    assert (frontier.horizon(), frontier.length) == (10, 0)
    frontier.end(0, Status.ACCEPTED)
    assert (frontier.horizon(), frontier.length) == (8, 1)
    for index in range(1, 7):
        frontier.end(index, Status.REJECTED)
    assert frontier.complete
    assert not frontier.exhausted
    assert frontier.length == frontier.horizon() == 8


def test_a_plan_that_ran_out_of_seeds_says_so() -> None:
    frontier = Frontier(How(pairs=2, max_seeds=3))
    for index, status in enumerate((Status.ACCEPTED, Status.REJECTED, Status.FAILED)):
        frontier.end(index, status)
    assert frontier.complete
    assert frontier.exhausted
    fixed = Frontier(How(pairs=2, seeds=1))
    fixed.end(0, Status.REJECTED)
    assert fixed.complete
    assert not fixed.exhausted


def test_no_more_seeds_are_at_work_than_the_missing_pairs_will_take() -> None:
    frontier = Frontier(How(pairs=30))
    assert frontier.appetite() == 60
    for index in range(90):
        frontier.end(index, Status.ACCEPTED if index % 3 == 0 else Status.REJECTED)
        assert frontier.appetite() >= 8
        if index == 44:
            assert 40 <= frontier.appetite() <= 50
    assert frontier.complete
    assert Frontier(How(seeds=500)).appetite() == 500
