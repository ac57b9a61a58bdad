"""How a seed ends: accepted, rejected and why, or too hard for the solver alone."""

from collections.abc import Sequence

from pipeline.context import RunContext
from pipeline.loop import solve_rates
from pipeline.types import Cause, GradedRollout, Label, Round, Seed, Status, Stop

Tried = Sequence[GradedRollout]


def outcome(
    rounds: Sequence[Round], confirmed: Tried, measured: Tried, seed: Seed, context: RunContext
) -> tuple[Status, str]:
    """How the seed ends, from its last draft, its confirmation, and that by the model that the pairs are for."""
    target = solve_rates.least_steps(seed, context.config)
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
    steps = [verdict.steps for _, verdict in confirmed if verdict.correct]
    if not steps:
        return Status.REJECTED, "unconfirmed"
    if min(steps) < target:
        return Status.REJECTED, "below_target"
    return Status.ACCEPTED, ""


def no_draft(stop: Stop) -> str:
    """The reason of a seed whose author ended so without a draft: by its own choice, by what, or before it began."""
    own = {
        Stop.ANSWERED: "",
        Stop.SEARCH_BUDGET: "",
        Stop.FORMAT_ERRORS: ":format_errors",
        Stop.NO_PROPOSAL: ":no_proposal",
    }
    return stop.value if stop is Stop.UNGROUNDED else f"no_draft{own.get(stop, ':limits')}"
