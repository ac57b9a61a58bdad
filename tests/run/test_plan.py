"""The order is fixed; the plan is its shortest prefix that holds the wanted pairs."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import RunConfig, build
from pipeline.config.runtime import Runtime
from pipeline.errors import UsageError
from pipeline.gates import Drop
from pipeline.run.plan import Order, PlanState, check_askable, permute, prefix
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
    assert (
        order.count_dropped(40)["too_short"]
        <= 10
        <= order.count_dropped(41)["too_short"]
        == sum(order.count_dropped(41).values())
    )


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 65, 1000, 1024, 5000])
def test_each_number_stands_at_one_place_and_the_key_decides_at_which(size: int) -> None:
    orders = [[permute(place, size, key) for place in range(size)] for key in ("a", "b")]
    for order in orders:
        assert sorted(order) == list(range(size))
    assert size < 5 or orders[0] != orders[1]
    assert orders[0] == [permute(place, size, "a") for place in range(size)]


def test_no_number_stands_nearer_to_its_own_place_or_to_its_neighbour_than_chance_has_it() -> None:
    size = 4000
    order = [permute(place, size, "a") for place in range(size)]
    assert 0.3 < sum(abs(number - place) for place, number in enumerate(order)) / size**2 < 0.36
    assert 0.3 < sum(abs(one - other) for one, other in itertools.pairwise(order)) / size**2 < 0.36
    assert permute(17, 10**12, "a") < 10**12


def test_targets_and_sides_are_drawn_evenly(tmp_path: Path) -> None:
    order = Order(config(tmp_path), corpus(3000))
    seeds = [order[n].seed for n in range(3000)]
    for target in (2, 3, 4):
        assert 900 < sum(seed.target_steps == target for seed in seeds) < 1100
    assert 100 < sum(seed.side == "eval" for seed in seeds) < 200


def test_a_corpus_without_a_seed_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no passage .* can start a question.*too_short 5"):
        check_askable(corpus(5, short=5))
    with pytest.raises(UsageError, match="there are none"):
        check_askable(FakeCorpus(()))
    check_askable(FakeCorpus((passage(0, "Too short."), passage(1))))


DROP = Drop("duplicate", "another pair asks the same")


def head(index: int, status: str) -> Head:
    return Head(key=str(index), order=f"{index:04}", status=Status(status), reason="", target_steps=1)


class EveryThird:
    """Drops every third accepted seed that it is asked about, so that the order of asking shows."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, head: Head) -> Drop | None:
        self.asked.append(head.key)
        return None if len(self.asked) % 3 else DROP


def all_pass(head: Head) -> None:
    return None


def truth(statuses: list[str], runtime: Runtime) -> int:
    """The length of the plan, the slow way."""
    if runtime.seeds is not None:
        return min(runtime.seeds, len(statuses))
    tries = runtime.max_seeds or 10 * runtime.pairs
    for length in range(len(statuses)):
        accepted = statuses[:length].count(Status.ACCEPTED)
        if accepted - accepted // 3 == runtime.pairs or length == tries:
            return length
    return len(statuses)


@given(
    statuses=st.lists(st.sampled_from(STATUSES), min_size=1, max_size=40),
    runtime=st.builds(
        Runtime, pairs=st.integers(1, 8), seeds=st.none() | st.integers(1, 45), max_seeds=st.none() | st.integers(1, 45)
    ),
    chance=st.randoms(use_true_random=False),
)
def test_the_plan_is_the_same_whatever_ends_first(statuses: list[str], runtime: Runtime, chance: object) -> None:
    length = truth(statuses, runtime)
    state = PlanState(RunConfig(runtime=runtime), judge := EveryThird())
    owed = list(range(len(statuses)))
    drops = []
    # Again and again, since what the gates drop makes room for seeds that were not needed before.
    while owed and not state.complete and any(index < state.next_needed() for index in owed):
        chance.shuffle(owed)  # type: ignore[attr-defined]
        for index in [index for index in owed if index < state.next_needed()]:
            drops += state.end(index, head(index, statuses[index]))
            owed.remove(index)
            assert state.length <= length
    assert state.length == length
    assert judge.asked == [str(n) for n in range(length) if statuses[n] is Status.ACCEPTED]
    heads = [head(n, status) for n, status in enumerate(statuses)]
    found = list(prefix(heads[::-1], RunConfig(runtime=runtime), EveryThird()))
    assert [int(head.key) for head, _ in found] == list(range(length))
    assert [(head, drop) for head, drop in found if drop] == drops


def test_fewer_seeds_are_needed_as_soon_as_enough_are_accepted_and_more_after_a_drop() -> None:
    drops = iter([None, DROP, None])
    state = PlanState(RunConfig(runtime=Runtime(pairs=2, max_seeds=30)), lambda _: next(drops))
    assert state.next_needed() == 30
    assert state.end(7, head(7, Status.ACCEPTED)) == []
    assert state.end(9, head(9, Status.ACCEPTED)) == []
    assert (state.next_needed(), state.length) == (10, 0)
    assert state.end(0, head(0, Status.ACCEPTED)) == []
    assert (state.next_needed(), state.length) == (8, 1)
    for index in range(1, 6):
        state.end(index, head(index, Status.REJECTED))
    assert state.end(6, head(6, Status.REJECTED)) == [(head(7, Status.ACCEPTED), DROP)]
    assert (state.complete, state.next_needed(), state.length) == (False, 10, 8)
    state.end(8, head(8, Status.REJECTED))
    assert state.complete
    assert not state.exhausted
    assert state.length == state.next_needed() == 10


def test_a_plan_that_ran_out_of_seeds_says_so() -> None:
    state = PlanState(RunConfig(runtime=Runtime(pairs=2, max_seeds=3)), all_pass)
    for index, status in enumerate((Status.ACCEPTED, Status.REJECTED, Status.FAILED)):
        state.end(index, head(index, status))
    assert state.complete
    assert state.exhausted
    fixed = PlanState(RunConfig(runtime=Runtime(pairs=2, seeds=1)), all_pass)
    fixed.end(0, head(0, Status.REJECTED))
    assert fixed.complete
    assert not fixed.exhausted


def test_no_more_seeds_are_at_work_than_the_missing_pairs_will_take() -> None:
    state = PlanState(RunConfig(runtime=Runtime(pairs=30)), all_pass)
    assert state.max_in_flight() == 60
    for index in range(90):
        state.end(index, head(index, Status.ACCEPTED if index % 3 == 0 else Status.REJECTED))
        assert state.max_in_flight() >= 8
        if index == 44:
            assert 40 <= state.max_in_flight() <= 50
    assert state.complete
    assert PlanState(RunConfig(runtime=Runtime(seeds=500)), all_pass).max_in_flight() == 500


@pytest.mark.parametrize("reason", ["no_draft", "superficial"])
def test_a_plan_of_the_embedded_model_ends_after_forty_seeds_without_a_chain(reason: str) -> None:
    asked = RunConfig(runtime=Runtime(pairs=30))
    heads = [head(n, Status.REJECTED).model_copy(update={"reason": reason}) for n in range(60)]
    state = PlanState(asked, all_pass)
    for index in range(48):  # some were at work when the fortieth ended
        state.end(index, heads[index])
    assert (state.length, state.complete, state.exhausted) == (40, True, True)
    assert len(list(prefix(heads, asked, all_pass))) == 40


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        (RunConfig(runtime=Runtime(pairs=30, max_seeds=50)), "superficial"),
        (RunConfig(runtime=Runtime(seeds=50)), "superficial"),
        (build(values={"models": {"default": {"provider": "openai", "model": "m"}}}), "superficial"),
        (RunConfig(runtime=Runtime(pairs=30)), "unconfirmed"),
    ],
)
def test_no_other_plan_does(asked: RunConfig, other: str) -> None:
    heads = [head(n, Status.REJECTED).model_copy(update={"reason": "superficial"}) for n in range(50)]
    heads[7] = heads[7].model_copy(update={"reason": other})
    state = PlanState(asked, all_pass)
    for index in range(50):
        state.end(index, heads[index])
    assert state.length == len(list(prefix(heads, asked, all_pass))) == 50
