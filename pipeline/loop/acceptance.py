"""How a seed ends: accepted, rejected and why, or too hard for the solver alone."""

from collections.abc import Sequence

from pipeline.context import RunContext
from pipeline.loop import solve_rates
from pipeline.types import Cause, GradedRollout, Label, Round, Seed, Status, Stop
from pipeline.types.step_counts import StepCounts

Tried = Sequence[GradedRollout]


def outcome(
    rounds: Sequence[Round], confirmed: Tried, measured: Tried, seed: Seed, context: RunContext
) -> tuple[Status, str]:
    """How the seed ends, from its last draft, its confirmation, and that by the model that the pairs are for."""
    last = next((past for past in reversed(rounds) if past.draft), None)
    if last is None:
        return Status.REJECTED, no_draft(rounds[-1].agent.stop)
    if last.feedback is not None:
        relaxed = context.config.loop.last_round_relaxed and last.feedback.cause is not Cause.ABOVE_BAND
        if relaxed and last.feedback.label is Label.TOO_EASY:
            return Status.ACCEPTED, "relaxed"
        if last.feedback.label is Label.UNSOLVED and last.answerable and last.feedback.cause is not Cause.BELOW_BAND:
            return Status.REJECTED, "beyond_solver"
        return Status.REJECTED, last.feedback.cause.value
    if not context.config.loop.confirm:
        return Status.ACCEPTED, ""
    if last.findings:
        return Status.REJECTED, last.findings[0].cause.value
    if solve_rates.missed(measured or confirmed, context.config):
        return Status.REJECTED, "outside_band"
    correct = [verdict for _, verdict in confirmed if verdict.correct]
    if not correct:
        return Status.REJECTED, "unconfirmed"
    if any(map(solve_rates.find_threshold(seed, context.config).is_missed, correct)):
        return Status.REJECTED, "below_range" if context.config.difficulty.adversarial else "below_target"
    return Status.ACCEPTED, ""


def after_seekers(reason: str, honest: Tried, sought: Tried, seed: Seed, context: RunContext) -> tuple[Status, str]:
    """Return how an accepted seed ends once seekers have tried it; it keeps its reason if they change nothing."""
    difficulty = StepCounts.of(honest, sought).difficulty
    if difficulty is None:
        return Status.REJECTED, "recalled"
    if difficulty < solve_rates.find_threshold(seed, context.config).steps:
        return Status.REJECTED, "below_range"
    return Status.ACCEPTED, reason


def no_draft(stop: Stop) -> str:
    """The reason of a seed whose author ended so without a draft: by its own choice, by what, or before it began."""
    own = {
        Stop.ANSWERED: "",
        Stop.SEARCH_BUDGET: "",
        Stop.FORMAT_ERRORS: ":format_errors",
        Stop.NO_PROPOSAL: ":no_proposal",
    }
    return stop.value if stop is Stop.UNGROUNDED else f"no_draft{own.get(stop, ':limits')}"
