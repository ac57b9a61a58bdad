"""The rollouts that a draft gets, as many as decide about it, and K fresh ones that confirm a candidate."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.agents.solver import graded_rollout, graded_rollouts
from pipeline.config import RunConfig
from pipeline.context import RunContext
from pipeline.llm import ledger
from pipeline.loop import assess, solve_rates
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.checks.same_name import linked_by_reader
from pipeline.types import Draft, Feedback, GradedRollout, Seed, sha256


@dataclass(frozen=True)
class Tries:
    """The rollouts of one draft, and why it is sent back by them or by what was read before."""

    own: list[GradedRollout]
    """Of the solver."""
    counted: list[GradedRollout]
    """Those of them, the first ones, that decided."""
    feedback: Feedback | None
    policy: list[GradedRollout] = field(default_factory=list)
    """Of the model that the pairs are for, where that is another and its solve rate is a target."""
    control: bool = False
    """Were some made only to see whether what had decided was right?"""


async def rollouts(draft: Draft, read: CheckResult, index: int, seed: Seed, context: RunContext) -> Tries:
    """The rollouts that a draft gets: those of the solver, unless a check sends it back; then those of the model that
    the pairs are for, unless the solver's do."""
    config, loop = context.config, context.config.loop
    fatal = any(finding.fatal for finding in read.findings)
    feedback = assess.feedback_from_audit(draft, read.findings) if fatal else None
    drawn = is_control(seed, index, loop.control_share)
    own = counted = list[GradedRollout]()
    if config.steps_required and (drawn or not fatal):
        target = solve_rates.least_steps(seed, config)
        own = await attempts(draft, context, target=target, whole=drawn)
        counted = own[: _decided(own, target, config)] if loop.early_stop else own
        feedback = feedback or solver_feedback(draft, counted, read, seed, context)
    control = drawn and config.steps_required and (fatal or len(counted) < len(own))
    if feedback or config.band is None:
        return Tries(own, counted, feedback, control=control)
    ledger.enter(ledger.POLICIES)
    policy = await solve_rates.attempts(draft, () if config.policy else own, context)
    ledger.enter(f"round {index}")
    feedback = solve_rates.feedback(draft, policy, config)
    return Tries(own, counted, feedback, policy, control) if config.policy else Tries(policy, policy, feedback)


def solver_feedback(
    draft: Draft, counted: assess.Tried, read: CheckResult, seed: Seed, context: RunContext, *, refuted: bool = False
) -> Feedback | None:
    """Why the solver's rollouts send the draft back."""
    linked, target = linked_by_reader(read.probes), solve_rates.least_steps(seed, context.config)
    skips = skips_count(context) and draft.graph is None
    return assess.feedback(draft, counted, target=target, skips=skips, refuted=refuted, linked=linked)


async def attempts(draft: Draft, context: RunContext, *, target: int, whole: bool) -> list[GradedRollout]:
    """K rollouts, or as many as it takes to decide; all K of a control (`whole`).

    Rollouts count in index order, so they run one after another where the next may not be needed.
    """
    loop = context.config.loop
    if whole or not loop.early_stop:
        return await graded_rollouts(draft, range(loop.rollouts), context)
    tried: list[GradedRollout] = []
    while _decided(tried, target, context.config) is None:
        tried.append(await graded_rollout(draft, len(tried), context))
    return tried


def _decided(tried: Sequence[GradedRollout], target: int, config: RunConfig) -> int | None:
    verdicts = [verdict for _, verdict in tried]
    return assess.decided(verdicts, target, rollouts=config.loop.rollouts, screen=config.screened())


async def confirm(draft: Draft, context: RunContext) -> list[GradedRollout]:
    """K fresh rollouts: the least of the first K is a lucky figure, so none of it is exported."""
    ledger.enter("confirmation")
    k = context.config.loop.rollouts
    return await graded_rollouts(draft, range(k, 2 * k), context)


def skips_count(context: RunContext) -> bool:
    """Is a draft too easy if a correct rollout skips hops? The demo solver's search finds too much that it never asks
    for, and SAGE's own loop knows no such rule."""
    return context.config.loop.audit and not context.lineage.solver_digest


def is_control(seed: Seed, index: int, share: float) -> bool:
    """Does this draft run to full K even if audit or early stop decides? Drawn by hash, not by chance."""
    return int(sha256(f"control:{seed.key}:{index}")[:8], 16) < share * 2**32
