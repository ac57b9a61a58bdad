"""How a seed ends: accepted, rejected and why, or too hard for the solver alone."""

from collections.abc import Sequence

from pipeline.context import RunContext
from pipeline.loop import solve_rates
from pipeline.types import Cause, GradedRollout, Label, Round, Seed, Status, Stop
from pipeline.types.step_counts import StepCounts

Tried = Sequence[GradedRollout]


def outcome(
    rounds: Sequence[Round], confirmed: Tried, measured: Tried, sought: Tried, seed: Seed, context: RunContext
) -> tuple[Status, str]:
    """Return how a seed ends, and why.

    Args:
        rounds: its drafts with their first rollouts.
        confirmed: the fresh rollouts of the last draft by the solver.
        measured: those by the model that the pairs are for.
        sought: the seekers' tries at the last draft.
        seed: the seed.
        context: the run.
    """
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
    if is_below_range(sought, seed, context):
        return Status.REJECTED, "below_range"
    if context.config.loop.confirm and (reason := _check_confirmation(last, confirmed, measured, seed, context)):
        return Status.REJECTED, reason
    if sought and StepCounts.of(confirmed or last.graded, sought).difficulty is None:
        return Status.REJECTED, "recalled"
    return Status.ACCEPTED, ""


def _check_confirmation(last: Round, confirmed: Tried, measured: Tried, seed: Seed, context: RunContext) -> str:
    """Return why the fresh rollouts do not confirm a candidate, or an empty text."""
    if last.findings:
        return last.findings[0].cause.value
    if solve_rates.missed(measured or confirmed, context.config):
        return "outside_band"
    correct = [verdict for _, verdict in confirmed if verdict.correct]
    if not correct:
        return "unconfirmed"
    if any(map(solve_rates.find_threshold(seed, context.config).is_missed, correct)):
        return "below_range" if context.config.difficulty.adversarial else "below_target"
    return ""


def is_below_range(sought: Tried, seed: Seed, context: RunContext) -> bool:
    """Return whether a seeker needed fewer steps than the range asks for."""
    difficulty = StepCounts.of((), sought).difficulty
    return difficulty is not None and difficulty < solve_rates.find_threshold(seed, context.config).steps


def no_draft(stop: Stop) -> str:
    """The reason of a seed whose author ended so without a draft: by its own choice, by what, or before it began."""
    own = {
        Stop.ANSWERED: "",
        Stop.SEARCH_BUDGET: "",
        Stop.FORMAT_ERRORS: ":format_errors",
        Stop.NO_PROPOSAL: ":no_proposal",
    }
    return stop.value if stop is Stop.UNGROUNDED else f"no_draft{own.get(stop, ':limits')}"
