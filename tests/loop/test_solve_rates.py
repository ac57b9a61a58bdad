"""A solve rate as target: it is measured on the policy model's rollouts, which also guide the refiner."""

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
from tests.loop.cast import CHECKS, Cast, make_context, make_proposal, make_seed
from tests.loop.cast import run as run_cast
from tests.loop.checks.reading import DRAFT
from tests.scripted_llm import ScriptedLLM

OTHER = "When was the town settled where the person who directed Lantern Bay grew up?"
POLICY = ("models.policies.small.model=embedded-weak", "policy=small", "solve_rate=0.2-0.8")
FRESH = 1000
"""The first sample of the confirmation."""
Paths = Callable[[str, int], int]
RunLast = Callable[[Draft, RunContext], Awaitable[list[GradedRollout]]]
HARD: Paths = lambda question, sample: -1  # noqa: E731
EASY: Paths = lambda question, sample: 3  # noqa: E731
EVEN: Paths = lambda question, sample: 3 if sample % 2 else -1  # noqa: E731


class Pair(Cast):
    """Plays two models: `policy` says how many steps the policy model takes."""

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
    context = make_context(llm := ScriptedLLM(cast), *POLICY, *sets)
    return asyncio.run(run_seed(make_seed(target), context)), llm.requests


def list_samples(requests: list[Request]) -> list[int]:
    """Return the samples that the policy model was asked for, in order."""
    samples = [r.sample for r in requests if r.model == "embedded-weak" and r.tools]
    return list(dict.fromkeys(samples))


def test_a_pair_within_the_band_is_accepted_and_measured_by_its_fresh_rollouts() -> None:
    record, requests = run(Pair(EVEN))
    assert (record.status, record.reason) == (Status.ACCEPTED, "")
    measurement = record.measurement("small")
    assert measurement
    assert (measurement.assessment.solve_rate, measurement.assessment.known_tries) == (0.5, 3)
    assert [rollout.sample for rollout in measurement.rollouts] == [FRESH + n for n in range(4)]
    # One wrong and one right rollout pass the draft; each of the four fresh ones is asked for once.
    assert list_samples(requests) == [0, 1, *(FRESH + n for n in range(4))]
    assert len(record.rounds[0].policy_rollouts) == 2
    assert [rollout.sample for rollout in record.rounds[0].rollouts] == [0, 1, 2, 3]
    assert (record.confirmation, record.difficulty, record.solve_rate) == ((), 3, 1.0)


@pytest.mark.parametrize(
    ("policy", "label", "cause", "message"),
    [
        (EASY, Label.TOO_EASY, Cause.ABOVE_BAND, "solved it in 4 of 4 tries, and the target is 20 to 80 %"),
        (HARD, Label.UNSOLVED, Cause.BELOW_BAND, "4 tries never found the passage that gives 'Vessby' (hops[1])"),
    ],
)
def test_feedback_names_the_models_solve_rate(policy: Paths, label: Label, cause: Cause, message: str) -> None:
    cast = Pair(policy, [make_proposal(OTHER)])
    record, requests = run(cast, "loop.rounds=1")
    assert [past.feedback and past.feedback.label for past in record.rounds] == [label, label]
    assert (record.status, record.reason) == (Status.REJECTED, cause.value)
    assert message in cast.feedback[0]["message"]
    assert list_samples(requests) == [0, 1, 2, 3]
    assert not any(past.rollouts for past in record.rounds)
    assert not record.measurements


def test_the_refiner_sees_whose_rollouts_they_are_and_aims_elsewhere() -> None:
    cast = Pair(EASY, [make_proposal(OTHER)])
    run(cast, "loop.rounds=1", target=2)
    first, second = cast.inputs[0], cast.inputs[-1]
    assert (first["solve_rate"], first["tries"], first["target_steps"]) == ([0.2, 0.8], 4, 2)
    assert second["target_steps"] == 4
    assert [rollout["policy"] for rollout in second["drafts"][-1]["rollouts"]] == [True] * 4


def test_fresh_rollouts_outside_the_band_reject_before_the_solver_tries() -> None:
    record, _ = run(Pair(lambda question, sample: 3 if sample >= FRESH or sample % 2 else -1))
    assert (record.status, record.reason) == (Status.REJECTED, "outside_band")
    assert record.rounds[0].rollouts == ()
    measurement = record.measurement("small")
    assert measurement
    assert measurement.assessment.solve_rate == 1


def test_a_narrow_band_is_missed_before_all_rollouts_have_run() -> None:
    record, requests = run(Pair(EASY), "solve_rate=0-0.25", "loop.rounds=0", "loop.rollouts=8")
    assert record.reason == "above_band"
    assert list_samples(requests) == [0, 1, 2]


def test_the_number_of_steps_rejects_nothing_unless_it_is_set() -> None:
    two: Paths = lambda question, sample: 2  # noqa: E731
    free, _ = run(Pair(EVEN, paths=two))
    assert free.status is Status.ACCEPTED
    limited, requests = run(Pair(EVEN, [make_proposal(OTHER)], paths=two), "steps=3", "loop.rounds=0")
    assert (limited.status, limited.rounds[0].feedback and limited.rounds[0].feedback.label) == (
        Status.REJECTED, Label.TOO_EASY,
    )  # fmt: skip
    assert list_samples(requests) == [], "the policy model is not asked about a draft that has too few steps"


def test_a_pair_can_meet_both_targets() -> None:
    record, requests = run(Pair(EVEN, paths=lambda question, sample: [0, 3, 4, 0][sample]), "steps=3")
    assert record.status is Status.ACCEPTED
    # The solver's first rollouts come before those of the policy, and the rest of its K after the policy's fresh ones.
    assert [rollout.sample for rollout in record.rounds[0].rollouts] == [0, 1, 2, 3]
    answering = [(r.model, r.sample) for r in requests if r.tools and r.tools[-1].name == "answer"]
    assert {*answering[:4]} == {("embedded", 0)}
    assert {model for model, sample in answering[-7:]} == {"embedded"}
    assert (record.difficulty, record.solve_rate, record.confirmation) == (3, 0.5, ())


def test_the_solver_can_be_the_model_that_the_pairs_are_for_and_fresh_rollouts_measure_it() -> None:
    record = run_cast(Cast(lambda question, sample: [3, -1, 3, 3, 4, 4, 4, -1][sample]), "solve_rate=0.2-0.8")
    assert (record.status, record.difficulty, record.solve_rate) == (Status.ACCEPTED, 4, 0.75)
    assert [rollout.sample for rollout in record.rounds[0].rollouts] == [0, 1]
    assert [rollout.sample for rollout in record.confirmation] == [4, 5, 6, 7]
    assert not record.rounds[0].policy_rollouts
    assert not record.measurements


@pytest.mark.parametrize(
    ("band", "fresh", "reason"),
    [("0.2-0.8", 3, "outside_band"), ("0.2-0.8", -1, "outside_band"), ("0-0.5", -1, "unconfirmed")],
)
def test_fresh_rollouts_of_the_solver_can_reject_what_its_first_ones_chose(band: str, fresh: int, reason: str) -> None:
    record = run_cast(
        Cast(lambda question, sample: fresh if sample > 3 else 3 if sample % 2 else -1), f"solve_rate={band}"
    )
    assert (record.status, record.reason) == (Status.REJECTED, reason)
    assert len(record.confirmation) == 4


def test_a_rival_that_the_fresh_rollouts_of_the_solver_show_counts() -> None:
    cast = Cast(lambda question, sample: 0 if sample in (4, 5) else 3 if sample % 2 else -1)
    cast.fits = True
    record = run_cast(cast, "solve_rate=0.2-0.8", CHECKS)
    assert (record.status, record.reason, len(record.confirmation)) == (Status.REJECTED, "ambiguous", 4)


def test_a_pair_that_the_solver_never_solves_is_not_confirmed() -> None:
    assert run(Pair(EVEN, paths=HARD))[0].reason == "unconfirmed"


def test_the_aim_follows_the_last_draft_that_was_too_easy_or_too_hard() -> None:
    easy, _ = run(Pair(EASY), "loop.rounds=0")
    hard, _ = run(Pair(HARD), "loop.rounds=0")
    settings = config.build(sets=list(POLICY))
    seed = make_seed(3)
    assert [aim(seed, settings, rounds) for rounds in ((), easy.rounds, hard.rounds)] == [3, 4, 2]
    assert aim(seed, settings, (*easy.rounds, *hard.rounds)) == 2
    required = config.build(sets=[*POLICY, "steps=3"])
    assert aim(seed, required, hard.rounds) == 3
    assert (least_steps(seed, settings), least_steps(seed, required)) == (1, 3)


def test_a_run_without_a_band_uses_the_usual_prompts() -> None:
    usual, banded = (config.build(sets=[*sets, "strategy='aggregate,constraints,walk'"]) for sets in ((), POLICY))
    assert not any(name.endswith("_in_band") for name in usual.digest_input()["prompts"])
    assert usual.digest_input()["steps_required"] is True
    added = set(banded.digest_input()["prompts"]) - set(usual.digest_input()["prompts"])
    assert added == set(prompts.IN_BAND.values()) - set(prompts.HARDENING)
    for name, in_band in prompts.IN_BAND.items():
        assert prompts.load(in_band).inputs == (*prompts.load(name).inputs, "solve_rate", "tries")


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["solve_rate=0.3-0.4"], "no share of 4 tries lies within 0.3-0.4: set loop.rollouts=3"),
        (["steps_required=false"], "steps_required = false needs a solve_rate"),
    ],
)
def test_a_target_that_nothing_can_meet_is_refused(sets: list[str], message: str) -> None:
    with pytest.raises(UsageError, match="solve_rate|tries") as caught:
        config.build(sets=sets)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "run_last",
    [draft_rollouts.run_fresh, solve_rates.run_confirmation, lambda draft, c: draft_rollouts.run_rest(draft, 0, c)],
    ids=["fresh", "policy", "rest"],
)
async def test_a_failing_rollout_is_reported_after_the_others_have_ended(run_last: RunLast) -> None:
    class Slow(ScriptedLLM):
        async def complete(self, request: Request) -> Completion:
            await asyncio.sleep(0.01 * (request.sample % 4))
            return await super().complete(request)

    cast = Pair(EASY)
    llm = Slow(lambda request: cast(request) if request.sample % 4 else FormatError("no verdict"))
    with pytest.raises(FormatError):
        await run_last(DRAFT, make_context(llm, *POLICY))
    assert len(llm.requests) == 1 + 3 * 4, "three searches and an answer of each of the other samples"
