"""The rollouts of a draft: as many as show that it is a candidate, then the rest of K, which measure it."""

from dataclasses import dataclass, field

from pipeline.agents.solver import graded_rollout, graded_rollouts
from pipeline.context import RunContext
from pipeline.llm import ledger
from pipeline.loop import assess, solve_rates
from pipeline.loop.checks.base import CheckResult
from pipeline.types import Draft, Feedback, GradedRollout, Seed


@dataclass(frozen=True)
class DraftRollouts:
    """The rollouts of one draft, and the feedback if they or an earlier check send it back."""

    solver: list[GradedRollout]
    feedback: Feedback | None
    policy: list[GradedRollout] = field(default_factory=list)
    """Rollouts of the policy, if its solve rate is the target."""


async def run_draft(draft: Draft, checks: CheckResult, index: int, seed: Seed, context: RunContext) -> DraftRollouts:
    """Run the solver on a draft that passed its checks, then the policy if the solver's rollouts pass too.

    If the solve rate of the solver itself is the target, its rollouts are continued.
    """
    config = context.config
    feedback = assess.feedback_from_findings(checks.findings) if checks.findings else None
    solver = list[GradedRollout]()
    if config.steps_required and not feedback:
        threshold = solve_rates.find_threshold(seed, config)
        solver = await _run_solver(draft, context)
        feedback = assess.explain_rollouts(draft, solver, threshold)
    if feedback or config.band is None:
        return DraftRollouts(solver, feedback)
    ledger.enter(ledger.POLICIES)
    measured = await solve_rates.run_model(draft, () if config.policy else solver, context)
    ledger.enter(f"round {index}")
    feedback = solve_rates.explain_solve_rate(draft, measured, config)
    return DraftRollouts(solver, feedback, measured) if config.policy else DraftRollouts(measured, feedback)


async def _run_solver(draft: Draft, context: RunContext) -> list[GradedRollout]:
    """Make K rollouts, one after another until one is correct if `early_stop` is set."""
    loop = context.config.loop
    if not loop.early_stop:
        return await graded_rollouts(draft, range(loop.rollouts), context)
    rollouts = list[GradedRollout]()
    while len(rollouts) < loop.rollouts and not any(verdict.correct for _, verdict in rollouts):
        rollouts.append(await graded_rollout(draft, len(rollouts), context))
    return rollouts


async def run_rest(draft: Draft, count: int, context: RunContext) -> list[GradedRollout]:
    """Make the rest of K rollouts after the `count` that made the draft a candidate.

    A draft is accepted only if a rollout is correct and none is too short, whichever of them came first. So the first
    ones are as good a measurement as the rest.
    """
    ledger.enter("confirmation")
    return await graded_rollouts(draft, range(count, context.config.loop.rollouts), context)


async def run_fresh(draft: Draft, context: RunContext) -> list[GradedRollout]:
    """Make K rollouts that had no part in choosing the draft."""
    ledger.enter("confirmation")
    k = context.config.loop.rollouts
    return await graded_rollouts(draft, range(k, 2 * k), context)
