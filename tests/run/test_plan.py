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
from pipeline.types.version import SeedPlace
from tests.run.fakes import FakeCorpus, config, corpus, passage

STATUSES = (Status.ACCEPTED, Status.REJECTED, Status.FAILED)


def first_keys(order: Order, count: int) -> list[str]:
    return [order[n].seed.key for n in range(count)]


def test_the_order_depends_only_on_configuration_and_corpus(tmp_path: Path) -> None:
    keys = first_keys(Order(config(tmp_path), corpus(50)), 120)
    assert len(set(keys)) == 120
    assert first_keys(Order(config(tmp_path / "elsewhere", concurrency=64, pairs=7), corpus(50)), 120) == keys
    shuffled = FakeCorpus(corpus(50).passages[::-1])
    assert first_keys(Order(config(tmp_path), shuffled), 120) == keys
    assert not set(first_keys(Order(config(tmp_path), FakeCorpus(corpus(50).passages, "g" * 64)), 120)) & set(keys)
    reseeded = config(tmp_path).model_copy(update={"seed": 1})
    assert not set(first_keys(Order(reseeded, corpus(50)), 120)) & set(keys)


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


def test_a_seed_that_runs_again_comes_first_and_only_once(tmp_path: Path) -> None:
    """Its passage has another text than in the version before, so that it is not among the tried seeds."""
    again = [SeedPlace(passage_id=passage.id, draw=0) for passage in corpus(50).passages[3:5]]
    order = Order(config(tmp_path), corpus(50), again=again)
    seeds = [order[n].seed for n in range(100)]
    assert [SeedPlace(passage_id=seed.passage.id, draw=seed.draw) for seed in seeds[:2]] == again
    assert len({seed.key for seed in seeds}) == 100


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 65, 1000, 1024, 5000])
def test_the_key_decides_a_permutation_of_all_numbers(size: int) -> None:
    orders = [[permute(place, size, key) for place in range(size)] for key in ("a", "b")]
    for order in orders:
        assert sorted(order) == list(range(size))
    assert size < 5 or orders[0] != orders[1]
    assert orders[0] == [permute(place, size, "a") for place in range(size)]


def test_the_permutation_looks_random() -> None:
    size = 4000
    order = [permute(index, size, "a") for index in range(size)]
    assert 0.3 < sum(abs(number - index) for index, number in enumerate(order)) / size**2 < 0.36
    assert 0.3 < sum(abs(previous - following) for previous, following in itertools.pairwise(order)) / size**2 < 0.36
    assert permute(17, 10**12, "a") < 10**12


def test_targets_and_sides_are_drawn_evenly(tmp_path: Path) -> None:
    order = Order(config(tmp_path), corpus(3000))
    seeds = [order[n].seed for n in range(3000)]
    for target in (2, 3, 4):
        assert 900 < sum(seed.target_steps == target for seed in seeds) < 1100
    assert 100 < sum(seed.side == "eval" for seed in seeds) < 200


def test_a_corpus_without_a_seed_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no passage .* can start a question.*too_short 5"):
        check_askable(corpus(5, short=5))
    with pytest.raises(UsageError, match="there are none"):
        check_askable(FakeCorpus(()))
    check_askable(FakeCorpus((passage(0, "Too short."), passage(1))))


DROP = Drop("duplicate", "another pair asks the same")


def make_head(index: int, status: str) -> Head:
    return Head(key=str(index), order=f"{index:04}", status=Status(status), reason="", target_steps=1)


class EveryThird:
    """Drops every third accepted seed that it judges, which reveals the order of the calls."""

    def __init__(self) -> None:
        self.judged_keys: list[str] = []

    def __call__(self, head: Head) -> Drop | None:
        self.judged_keys.append(head.key)
        return None if len(self.judged_keys) % 3 else DROP


def pass_all(head: Head) -> None:
    return None


def expected_length(statuses: list[str], runtime: Runtime) -> int:
    """Compute the length of the plan by brute force."""
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
def test_the_plan_ignores_the_order_of_completion(statuses: list[str], runtime: Runtime, chance: object) -> None:
    length = expected_length(statuses, runtime)
    state = PlanState(RunConfig(runtime=runtime), judge := EveryThird())
    owed = list(range(len(statuses)))
    drops = []
    # Repeat, since each seed that the gates drop makes another seed necessary.
    while owed and not state.complete and any(index < state.next_needed() for index in owed):
        chance.shuffle(owed)  # type: ignore[attr-defined]
        for index in [index for index in owed if index < state.next_needed()]:
            drops += state.end(index, make_head(index, statuses[index]))
            owed.remove(index)
            assert state.length <= length
    assert state.length == length
    assert judge.judged_keys == [str(n) for n in range(length) if statuses[n] is Status.ACCEPTED]
    heads = [make_head(n, status) for n, status in enumerate(statuses)]
    planned = list(prefix(heads[::-1], RunConfig(runtime=runtime), EveryThird()))
    assert [int(head.key) for head, _ in planned] == list(range(length))
    assert [(head, drop) for head, drop in planned if drop] == drops


def test_fewer_seeds_are_needed_as_soon_as_enough_are_accepted_and_more_after_a_drop() -> None:
    drops = iter([None, DROP, None])
    state = PlanState(RunConfig(runtime=Runtime(pairs=2, max_seeds=30)), lambda _: next(drops))
    assert state.next_needed() == 30
    assert state.end(7, make_head(7, Status.ACCEPTED)) == []
    assert state.end(9, make_head(9, Status.ACCEPTED)) == []
    assert (state.next_needed(), state.length) == (10, 0)
    assert state.end(0, make_head(0, Status.ACCEPTED)) == []
    assert (state.next_needed(), state.length) == (8, 1)
    for index in range(1, 6):
        state.end(index, make_head(index, Status.REJECTED))
    assert state.end(6, make_head(6, Status.REJECTED)) == [(make_head(7, Status.ACCEPTED), DROP)]
    assert (state.complete, state.next_needed(), state.length) == (False, 10, 8)
    state.end(8, make_head(8, Status.REJECTED))
    assert state.complete
    assert not state.exhausted
    assert state.length == state.next_needed() == 10


def test_a_plan_that_ran_out_of_seeds_says_so() -> None:
    state = PlanState(RunConfig(runtime=Runtime(pairs=2, max_seeds=3)), pass_all)
    for index, status in enumerate((Status.ACCEPTED, Status.REJECTED, Status.FAILED)):
        state.end(index, make_head(index, status))
    assert state.complete
    assert state.exhausted
    fixed = PlanState(RunConfig(runtime=Runtime(pairs=2, seeds=1)), pass_all)
    fixed.end(0, make_head(0, Status.REJECTED))
    assert fixed.complete
    assert not fixed.exhausted


def test_no_more_seeds_are_at_work_than_the_missing_pairs_will_take() -> None:
    state = PlanState(RunConfig(runtime=Runtime(pairs=30)), pass_all)
    assert state.max_in_flight() == 60
    for index in range(90):
        state.end(index, make_head(index, Status.ACCEPTED if index % 3 == 0 else Status.REJECTED))
        assert state.max_in_flight() >= 8
        if index == 44:
            assert 40 <= state.max_in_flight() <= 50
    assert state.complete
    assert PlanState(RunConfig(runtime=Runtime(seeds=500)), pass_all).max_in_flight() == 500


@pytest.mark.parametrize("reason", ["no_draft", "superficial"])
def test_a_plan_of_the_demo_model_ends_after_forty_seeds_without_a_chain(reason: str) -> None:
    config = RunConfig(runtime=Runtime(pairs=30))
    heads = [make_head(n, Status.REJECTED).model_copy(update={"reason": reason}) for n in range(60)]
    state = PlanState(config, pass_all)
    for index in range(48):  # some were at work when the fortieth ended
        state.end(index, heads[index])
    assert (state.length, state.complete, state.exhausted) == (40, True, True)
    assert len(list(prefix(heads, config, pass_all))) == 40


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (RunConfig(runtime=Runtime(pairs=30, max_seeds=50)), "superficial"),
        (RunConfig(runtime=Runtime(seeds=50)), "superficial"),
        (build(values={"models": {"default": {"provider": "openai", "model": "m"}}}), "superficial"),
        (RunConfig(runtime=Runtime(pairs=30)), "unconfirmed"),
    ],
)
def test_other_plans_do_not_end_early(config: RunConfig, reason: str) -> None:
    heads = [make_head(n, Status.REJECTED).model_copy(update={"reason": "superficial"}) for n in range(50)]
    heads[7] = heads[7].model_copy(update={"reason": reason})
    state = PlanState(config, pass_all)
    for index in range(50):
        state.end(index, heads[index])
    assert state.length == len(list(prefix(heads, config, pass_all))) == 50
