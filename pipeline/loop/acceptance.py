"""How a seed ends: accepted, rejected and why, or too hard for the solver."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.context import RunContext
from pipeline.loop import solve_rates
from pipeline.types import Cause, GradedRollout, Label, NoDraft, Reason, ReasonCode, Round, Seed, Status, Stop
from pipeline.types.step_counts import StepCounts


@dataclass
class FinalRollouts:
    """The rollouts of a candidate after its round."""

    sought: list[GradedRollout] = field(default_factory=list)
    """Rollouts of seekers."""
    measured: list[GradedRollout] = field(default_factory=list)
    """Fresh rollouts of the policy whose solve rate is the target."""
    confirmed: list[GradedRollout] = field(default_factory=list)
    """Fresh rollouts of the solver, if its solve rate is the target."""


def decide_outcome(
    rounds: Sequence[Round], final: FinalRollouts, seed: Seed, context: RunContext
) -> tuple[Status, Reason]:
    last = next((round_ for round_ in reversed(rounds) if round_.draft), None)
    if last is None:
        return Status.REJECTED, _explain_no_draft(rounds[-1].agent.stop)
    if last.feedback is not None:
        relaxed = context.config.loop.last_round_relaxed and last.feedback.cause is not Cause.ABOVE_BAND
        if relaxed and last.feedback.label is Label.TOO_EASY:
            return Status.ACCEPTED, Reason(ReasonCode.RELAXED)
        if last.feedback.label is Label.UNSOLVED and last.answerable and last.feedback.cause is not Cause.BELOW_BAND:
            return Status.REJECTED, Reason(ReasonCode.BEYOND_SOLVER)
        return Status.REJECTED, Reason(last.feedback.cause)
    if is_below_range(final.sought, seed, context):
        return Status.REJECTED, Reason(ReasonCode.BELOW_RANGE)
    if code := _check_measurement(last, final, seed, context):
        return Status.REJECTED, Reason(code)
    if final.sought and StepCounts.of(final.confirmed or last.graded, final.sought).difficulty is None:
        return Status.REJECTED, Reason(ReasonCode.RECALLED)
    return Status.ACCEPTED, Reason("")


def _check_measurement(last: Round, final: FinalRollouts, seed: Seed, context: RunContext) -> ReasonCode | Cause | None:
    if last.findings:
        return last.findings[0].cause
    if solve_rates.misses_target(final.measured or final.confirmed, context.config):
        return ReasonCode.OUTSIDE_BAND
    correct = [verdict for _, verdict in final.confirmed or last.graded if verdict.correct]
    if not correct:
        return ReasonCode.UNCONFIRMED
    if any(map(solve_rates.find_threshold(seed, context.config).is_missed, correct)):
        return ReasonCode.BELOW_RANGE if context.config.difficulty.adversarial else ReasonCode.BELOW_TARGET
    return None


def is_below_range(sought: Sequence[GradedRollout], seed: Seed, context: RunContext) -> bool:
    difficulty = StepCounts.of((), sought).difficulty
    return difficulty is not None and difficulty < solve_rates.find_threshold(seed, context.config).steps


def _explain_no_draft(stop: Stop) -> Reason:
    if stop is Stop.UNGROUNDED:
        return Reason(ReasonCode.UNGROUNDED)
    if stop in (Stop.ANSWERED, Stop.SEARCH_BUDGET):
        return Reason(ReasonCode.NO_DRAFT)
    details = {Stop.FORMAT_ERRORS: NoDraft.FORMAT_ERRORS, Stop.NO_PROPOSAL: NoDraft.NO_PROPOSAL}
    return Reason(ReasonCode.NO_DRAFT, details.get(stop, NoDraft.LIMITS))
