"""The rollouts that a draft gets, as many as decide about it, and K fresh ones that confirm a candidate."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.agents.solver import graded_rollout, graded_rollouts
from pipeline.config import RunConfig
from pipeline.context import RunContext
from pipeline.llm import ledger
from pipeline.loop import assess, solve_rates
from pipeline.loop.checks.base import CheckResult
from pipeline.types import Draft, Feedback, GradedRollout, Seed


@dataclass(frozen=True)
class Tries:
    """The rollouts of one draft, and why it is sent back by them or by what was read before."""

    own: list[GradedRollout]
    """Of the solver."""
    feedback: Feedback | None
    policy: list[GradedRollout] = field(default_factory=list)
    """Of the model that the pairs are for, where that is another and its solve rate is a target."""


async def rollouts(draft: Draft, read: CheckResult, index: int, seed: Seed, context: RunContext) -> Tries:
    """The rollouts that a draft gets: those of the solver, unless a check sends it back; then those of the model that
    the pairs are for, unless the solver's do."""
    config = context.config
    feedback = assess.feedback_from_findings(read.findings) if read.findings else None
    own = list[GradedRollout]()
    if config.steps_required and not feedback:
        own = await attempts(draft, context, solve_rates.find_threshold(seed, config))
        feedback = solver_feedback(draft, own, seed, context)
    if feedback or config.band is None:
        return Tries(own, feedback)
    ledger.enter(ledger.POLICIES)
    policy = await solve_rates.attempts(draft, () if config.policy else own, context)
    ledger.enter(f"round {index}")
    feedback = solve_rates.feedback(draft, policy, config)
    return Tries(own, feedback, policy) if config.policy else Tries(policy, feedback)


def solver_feedback(
    draft: Draft, own: assess.Tried, seed: Seed, context: RunContext, *, refuted: bool = False
) -> Feedback | None:
    """Say why the solver's rollouts send the draft back."""
    return assess.feedback(draft, own, solve_rates.find_threshold(seed, context.config), refuted=refuted)


async def attempts(draft: Draft, context: RunContext, threshold: assess.Threshold) -> list[GradedRollout]:
    """Make K rollouts, or with `loop.early_stop` one after another until they decide."""
    loop = context.config.loop
    if not loop.early_stop:
        return await graded_rollouts(draft, range(loop.rollouts), context)
    tried: list[GradedRollout] = []
    while not _have_decided(tried, threshold, context.config):
        tried.append(await graded_rollout(draft, len(tried), context))
    return tried


def _have_decided(tried: Sequence[GradedRollout], threshold: assess.Threshold, config: RunConfig) -> bool:
    verdicts = [verdict for _, verdict in tried]
    return assess.have_decided(verdicts, threshold, rollouts=config.loop.rollouts, screen=config.screen_rollouts())


async def confirm(draft: Draft, context: RunContext) -> list[GradedRollout]:
    """K fresh rollouts: the least of the first K is a lucky figure, so none of it is exported."""
    ledger.enter("confirmation")
    k = context.config.loop.rollouts
    return await graded_rollouts(draft, range(k, 2 * k), context)
