"""A solved question is as hard as its shortest way, which seekers look for."""

from itertools import groupby

import pytest

from pipeline.config import build
from pipeline.config.loop import WAYS
from pipeline.llm.base import Request
from pipeline.loop.seekers import build_limits
from pipeline.types import Message, Record, Status
from pipeline.types.step_counts import StepCounts
from tests.loop.cast import PATHS, Cast, call, get_role, run

ON = "difficulty.adversarial=true"
ALL = "difficulty.seekers=['end','clues','guess','free']"
ENDS = {"end": "begin at the end", "clues": "several clues", "guess": "guess what kind", "free": "Choose the way"}


class Seeking(Cast):
    """Plays seekers that search as scripted per way, and a solver that takes `honest` steps in every rollout."""

    def __init__(self, honest: int, **ways: list[str]) -> None:
        super().__init__(lambda question, sample: honest)
        self.ways, self.tried_ways = ways, list[str]()
        self.order = list[str | int]()
        """Samples of the solver and ways of the seekers, in the order of their first requests."""

    def __call__(self, request: Request) -> Message:
        system_prompt = request.messages[0].content
        way = next((name for name, words in ENDS.items() if words in system_prompt), "")
        if get_role(request) == "answer" and (way or request.sample) not in self.order:
            self.order.append(way or request.sample)
        if not way or request.tools[-1].name != "answer":
            return super().__call__(request)
        self.tried_ways.append(way)
        turn = sum(message.role == "assistant" for message in request.messages)
        queries = self.ways.get(way, ["silent drama"])
        if turn < len(queries):
            return call("search", query=queries[turn])
        return call("answer", answer="1641" if way in self.ways else "not found")


def run_seekers(honest: int, *sets: str, target: int = 3, **ways: list[str]) -> Record:
    return run(Seeking(honest, **ways), ON, ALL, "loop.rounds=0", *sets, target=target)


def test_an_accepted_pair_is_as_hard_as_the_shortest_way_of_a_seeker() -> None:
    record = run_seekers(4, end=PATHS[2], free=PATHS[3])
    assert (record.status, record.difficulty, record.solve_rate) == (Status.ACCEPTED, 2, 1.0)
    assert [rollout.sample for rollout in record.seekers] == [*range(4)]
    counts = record.step_counts
    assert (counts.least_steps, counts.adversarial_steps) == (4, 2)
    assert (counts.adversarial_tries, counts.adversarial_right) == (4, 2)
    assert record.usage["seeker"].calls == 3 + 2 + 2 + 4


@pytest.mark.parametrize(
    ("steps", "ends", "rollouts"), [("2-4", ("accepted", ""), 4), ("3-4", ("rejected", "below_range"), 1)]
)
def test_a_pair_below_the_range_is_rejected_whatever_its_own_target(
    steps: str, ends: tuple[str, str], rollouts: int
) -> None:
    record = run_seekers(4, f"steps={steps}", clues=PATHS[2])
    assert (record.status, record.reason, record.difficulty, record.solve_rate) == (*ends, 2, 1.0)
    assert len(record.rounds[0].rollouts) == rollouts, "the rest is made only of what no seeker rejects"


@pytest.mark.parametrize(
    ("early_stop", "order"),
    [("true", [0, 1, "clues", "guess", 2, 3]), ("false", [0, 1, 2, 3, "clues", "guess"])],
)
def test_seekers_run_after_the_first_correct_rollout_and_before_the_rest(
    early_stop: str, order: list[str | int]
) -> None:
    cast = Seeking(3)
    cast.paths = lambda question, sample: 3 if sample else 0
    record = run(cast, ON, f"loop.early_stop={early_stop}")
    assert record.status is Status.ACCEPTED
    # Rollouts of one stage run at the same time, in any order.
    kinds = [[*sorted(group, key=str)] for _, group in groupby(cast.order, key=type)]
    assert kinds == [[*group] for _, group in groupby(order, key=type)]
    assert [rollout.sample for rollout in record.rounds[0].rollouts] == [0, 1, 2, 3]


def test_a_rollout_below_the_range_ends_a_pair_before_any_seeker() -> None:
    cast = Seeking(2)
    record = run(cast, ON, "steps=3-4", "loop.rounds=0")
    assert (record.status, record.reason, cast.tried_ways) == (Status.REJECTED, "superficial", [])


def test_one_of_the_rest_below_the_range_ends_a_pair() -> None:
    cast = Seeking(3)
    cast.paths = lambda question, sample: 2 if sample == 3 else 3
    record = run(cast, ON, "steps=3-4")
    assert (record.status, record.reason, record.difficulty) == (Status.REJECTED, "below_range", 2)
    assert (len(record.rounds), len(record.rounds[0].rollouts), len(record.seekers)) == (1, 4, 2)


def test_two_ways_are_tried_unless_more_are_asked_for() -> None:
    record = run(Seeking(4), ON, "loop.rounds=0")
    assert [WAYS[rollout.sample] for rollout in record.seekers] == ["clues", "guess"]


def test_a_seeds_target_is_only_an_aim() -> None:
    assert run_seekers(2, free=PATHS[2]).status is Status.ACCEPTED
    assert run(Cast(lambda question, sample: 2), "loop.rounds=0", target=3).status is Status.REJECTED


def test_if_every_seeker_fails_the_number_of_steps_is_censored() -> None:
    record = run_seekers(3)
    counts = record.step_counts
    assert (record.status, record.difficulty, counts.adversarial_steps) == (Status.ACCEPTED, 3, None)
    assert counts.adversarial_more_than == 1


def test_a_recalled_answer_is_no_shortcut() -> None:
    record = run_seekers(3, guess=["Vessby founded"], free=PATHS[3])
    counts = record.step_counts
    assert (record.status, counts.adversarial_steps, counts.recall_steps) == (Status.ACCEPTED, 3, 1)


def test_seekers_can_be_left_out() -> None:
    record = run_seekers(3, "difficulty.seekers=['free','end']", free=PATHS[3])
    assert [WAYS[rollout.sample] for rollout in record.seekers] == ["end", "free"]
    off = run(Cast(lambda question, sample: 3), "difficulty.adversarial=false")
    assert (off.seekers, off.step_counts) == ((), StepCounts.of(off.graded))


def test_a_seeker_has_three_searches_for_each_step_of_the_target() -> None:
    config = build()
    assert [build_limits(target, config).searches for target in (2, 4, 12)] == [6, 12, 36]
    assert build_limits(12, config).tokens == 9 * build_limits(4, config).tokens
    record = run_seekers(3, target=2, free=["Lantern Bay", *(f"silent drama {n}" for n in "abcdefgh")])
    assert record.seekers[3].trajectory.steps == 6


def test_seekers_prompts_enter_no_rollout_that_is_trained_on() -> None:
    record = run_seekers(3, free=PATHS[3])
    seeker_prompts = {rollout.trajectory.messages[0].content for rollout in record.seekers}
    assert seeker_prompts.isdisjoint(rollout.trajectory.messages[0].content for rollout, _ in record.graded)


def test_presets_of_papers_run_no_seekers() -> None:
    for preset in ("sage", "ragshaper"):
        config = build(values={"preset": preset})
        assert not config.difficulty.adversarial
        assert "seeker/clues" not in config.digest_input()["prompts"]
    assert "seeker/clues" in build().digest_input()["prompts"]


def test_a_sampled_accepted_pair_is_attacked_again_and_keeps_its_difficulty() -> None:
    class Lucky(Seeking):
        def __call__(self, request: Request) -> Message:
            self.ways = {"end": PATHS[2] if request.sample >= len(WAYS) else PATHS[4], "free": PATHS[3]}
            return super().__call__(request)

    record = run(Lucky(4), ON, ALL, "difficulty.again=1")
    assert [rollout.sample for rollout in record.again] == [4, 5, 6, 7]
    assert (record.status, record.difficulty, record.keeps_number) == (Status.ACCEPTED, 3, False)
    assert run(Lucky(4), ON, ALL, "difficulty.again=0").keeps_number is None
    steady = run(Seeking(4, free=PATHS[3]), ON, ALL, "difficulty.again=1")
    assert (steady.difficulty, steady.keeps_number, steady.missing) == (3, True, ())
