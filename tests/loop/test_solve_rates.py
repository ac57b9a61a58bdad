"""A solve rate as a target: what the tries of the model to be trained decide, and what the refiner is told of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.errors import FormatError, UsageError
from pipeline.llm.base import Completion, Request
from pipeline.loop import draft_rollouts, solve_rates
from pipeline.loop.episode import run_seed
from pipeline.loop.solve_rates import aim, least_steps
from pipeline.types import Cause, Draft, GradedRollout, Label, Message, Record, Status
from tests.loop.checks.test_readings import DRAFT
from tests.loop.test_episode import LINEAGE, SHELF, Cast, proposal, seeded
from tests.scripted import ScriptedLLM

OTHER = "When was the town settled where the person who directed Lantern Bay grew up?"
POLICY = ("models.policies.small.model=embedded-weak", "policy=small", "solve_rate=0.2-0.8")
FRESH = 1000
"""The first sample of the confirmation."""
Paths = Callable[[str, int], int]
Confirm = Callable[[Draft, RunContext], Awaitable[list[GradedRollout]]]
HARD: Paths = lambda question, sample: -1  # noqa: E731
EASY: Paths = lambda question, sample: 3  # noqa: E731
EVEN: Paths = lambda question, sample: 3 if sample % 2 else -1  # noqa: E731


class Pair(Cast):
    """Two models: `policy` says how many steps the one to be trained takes."""

    def __init__(self, policy: Paths, revisions: list[dict[str, Any]] = [], *, paths: Paths = EASY) -> None:  # noqa: B006
        super().__init__(paths, revisions)
        self.policy, self.inputs = policy, list[dict[str, Any]]()

    def __call__(self, request: Request) -> Message:
        if request.tools and request.tools[-1].name in ("propose", "revise"):
            self.inputs.append(prompts.unfence(request.messages[1].content) or {})
        if request.model == "embedded-weak" and request.tools:
            turn = sum(m.role == "assistant" for m in request.messages)
            return Cast(self.policy).solve(request.messages[1].content, request.sample, turn)
        return super().__call__(request)


def run(cast: Pair, *sets: str, target: int = 3) -> tuple[Record, list[Request]]:
    settings = config.build(sets=["strategy='sage'", "difficulty.adversarial=false", "retrieval.k=1", *POLICY, *sets])
    llm = ScriptedLLM(cast)
    context = RunContext(config=settings, llm=llm, retriever=SHELF, lineage=LINEAGE)
    return asyncio.run(run_seed(seeded(target), context)), llm.requests


def tries(requests: list[Request]) -> list[int]:
    """The samples that the model to be trained was asked for with tools, in order."""
    asked = [r.sample for r in requests if r.model == "embedded-weak" and r.tools]
    return list(dict.fromkeys(asked))


def test_a_pair_within_the_band_is_accepted_and_its_fresh_tries_are_what_is_measured() -> None:
    record, requests = run(Pair(EVEN))
    assert (record.status, record.reason) == (Status.ACCEPTED, "")
    measured = record.measurement("small")
    assert measured
    assert (measured.assessment.solve_rate, measured.assessment.known_tries) == (0.5, 3)
    assert [rollout.sample for rollout in measured.rollouts] == [FRESH + n for n in range(4)]
    # One wrong and one right try let the draft on; of the four fresh ones none is asked twice.
    assert tries(requests) == [0, 1, *(FRESH + n for n in range(4))]
    assert len(record.rounds[0].policy_rollouts) == 2
    assert len(record.confirmation) == 4


@pytest.mark.parametrize(
    ("policy", "label", "cause", "said"),
    [
        (EASY, Label.TOO_EASY, Cause.ABOVE_BAND, "solved it in 4 of 4 tries, and the target is 20 to 80 %"),
        (HARD, Label.UNSOLVED, Cause.BELOW_BAND, "4 tries never found the passage that gives 'Vessby' (hops[1])"),
    ],
)
def test_too_often_and_too_seldom_are_told_in_terms_of_the_model(
    policy: Paths, label: Label, cause: Cause, said: str
) -> None:
    cast = Pair(policy, [proposal(OTHER)])
    record, requests = run(cast, "loop.rounds=1")
    assert [past.feedback and past.feedback.label for past in record.rounds] == [label, label]
    assert (record.status, record.reason) == (Status.REJECTED, cause.value)
    assert said in cast.feedback[0]["message"]
    assert tries(requests) == [0, 1, 2, 3]
    assert not record.confirmation
    assert not record.measurements


def test_the_refiner_sees_whose_tries_they_are_and_aims_elsewhere() -> None:
    cast = Pair(EASY, [proposal(OTHER)])
    run(cast, "loop.rounds=1", target=2)
    first, second = cast.inputs[0], cast.inputs[-1]
    assert (first["solve_rate"], first["tries"], first["target_steps"]) == ([0.2, 0.8], 4, 2)
    assert second["target_steps"] == 4
    assert [one["policy"] for one in second["drafts"][-1]["rollouts"]] == [True] * 4


def test_fresh_tries_that_miss_the_band_reject_before_the_solver_is_paid_to_confirm() -> None:
    record, _ = run(Pair(lambda question, sample: 3 if sample >= FRESH or sample % 2 else -1))
    assert (record.status, record.reason) == (Status.REJECTED, "outside_band")
    assert record.confirmation == ()
    measured = record.measurement("small")
    assert measured
    assert measured.assessment.solve_rate == 1


def test_a_narrow_band_is_missed_without_all_tries() -> None:
    record, requests = run(Pair(EASY), "solve_rate=0-0.25", "loop.rounds=0", "loop.rollouts=8")
    assert record.reason == "above_band"
    assert tries(requests) == [0, 1, 2]


def test_the_steps_reject_nothing_unless_they_are_asked_for() -> None:
    two: Paths = lambda question, sample: 2  # noqa: E731
    free, _ = run(Pair(EVEN, paths=two))
    assert free.status is Status.ACCEPTED
    both, requests = run(Pair(EVEN, [proposal(OTHER)], paths=two), "steps=3", "loop.rounds=0")
    assert (both.status, both.rounds[0].feedback and both.rounds[0].feedback.label) == (
        Status.REJECTED, Label.TOO_EASY,
    )  # fmt: skip
    assert tries(requests) == [], "the model to be trained is not asked about a draft that has too few steps"


def test_both_targets_are_met_by_who_meets_both() -> None:
    record, _ = run(Pair(EVEN), "steps=3")
    assert record.status is Status.ACCEPTED
    assert record.rounds[0].rollouts
    assert record.difficulty == 3


def test_the_runs_own_solver_can_be_the_one_that_the_pairs_are_for() -> None:
    sets = ["retrieval.k=1", "solve_rate=0.2-0.8"]
    context = RunContext(
        config=config.build(sets=["strategy='sage'", "difficulty.adversarial=false", *sets]),
        llm=ScriptedLLM(Cast(EVEN)),
        retriever=SHELF,
        lineage=LINEAGE,
    )
    record = asyncio.run(run_seed(seeded(), context))
    assert (record.status, record.solve_rate) == (Status.ACCEPTED, 0.5)
    assert len(record.rounds[0].rollouts) == 2
    assert not record.rounds[0].policy_rollouts
    assert not record.measurements


def test_a_pair_that_the_solver_never_solves_is_not_confirmed() -> None:
    assert run(Pair(EVEN, paths=HARD))[0].reason == "unconfirmed"


def test_the_aim_follows_the_last_draft_that_was_too_easy_or_too_hard() -> None:
    easy, _ = run(Pair(EASY), "loop.rounds=0")
    hard, _ = run(Pair(HARD), "loop.rounds=0")
    settings = config.build(sets=list(POLICY))
    seed = seeded(3)
    assert [aim(seed, settings, rounds) for rounds in ((), easy.rounds, hard.rounds)] == [3, 4, 2]
    assert aim(seed, settings, (*easy.rounds, *hard.rounds)) == 2
    required = config.build(sets=[*POLICY, "steps=3"])
    assert aim(seed, required, hard.rounds) == 3
    assert (least_steps(seed, settings), least_steps(seed, required)) == (1, 3)


def test_a_usual_run_asks_with_the_usual_prompts() -> None:
    usual, banded = (config.build(sets=[*sets, "strategy='aggregate,constraints,walk'"]) for sets in ((), POLICY))
    assert not any(name.endswith("_in_band") for name in usual.digest_input()["prompts"])
    assert usual.digest_input()["steps_required"] is True
    added = set(banded.digest_input()["prompts"]) - set(usual.digest_input()["prompts"])
    assert added == set(prompts.IN_BAND.values()) - set(prompts.HARDENING)
    for name, other in prompts.IN_BAND.items():
        assert prompts.load(other).inputs == (*prompts.load(name).inputs, "solve_rate", "tries")


@pytest.mark.parametrize(
    ("sets", "said"),
    [
        (["solve_rate=0.3-0.4"], "no share of 4 tries lies within 0.3-0.4: set loop.rollouts=3"),
        (["steps_required=false"], "steps_required = false needs a solve_rate"),
    ],
)
def test_a_target_that_nothing_can_meet_is_refused(sets: list[str], said: str) -> None:
    with pytest.raises(UsageError, match="solve_rate|tries") as caught:
        config.build(sets=sets)
    assert said in str(caught.value)


@pytest.mark.parametrize("confirm", [draft_rollouts.run_confirmation, solve_rates.run_confirmation])
async def test_a_try_that_fails_is_told_of_when_those_beside_it_have_ended(confirm: Confirm) -> None:
    class Slow(ScriptedLLM):
        async def complete(self, request: Request) -> Completion:
            await asyncio.sleep(0.01 * (request.sample % 4))
            return await super().complete(request)

    cast = Pair(EASY)
    llm = Slow(lambda request: cast(request) if request.sample % 4 else FormatError("no verdict"))
    settings = config.build(sets=["strategy='sage'", "difficulty.adversarial=false", "retrieval.k=1", *POLICY])
    with pytest.raises(FormatError):
        await confirm(DRAFT, RunContext(config=settings, llm=llm, retriever=SHELF, lineage=LINEAGE))
    assert len(llm.requests) == 1 + 3 * 4, "three searches and an answer of each of the others"
