"""The loop: propose → audit → K rollouts → assess → feedback → revise, at most R times; then K fresh rollouts confirm.

Every seed ends as one record: accepted, rejected(reason) or failed(reason).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from pipeline.agents import grading
from pipeline.agents.solver import graded_rollout
from pipeline.config import RunConfig
from pipeline.context import RunContext, SeedMemory
from pipeline.distractors.evaluate import evaluate_distractors, missing_pairs
from pipeline.distractors.teacher import missing_samples, teacher_rollouts
from pipeline.errors import DeadlineExceeded, FormatError
from pipeline.llm import ledger
from pipeline.llm.deadline import in_time
from pipeline.loop import assess, band
from pipeline.loop.checks.alternatives import agreed, alternatives
from pipeline.loop.checks.same_name import linked_by_reader
from pipeline.loop.examine import examine
from pipeline.loop.policies import measurement, policy_measurements, unmeasured
from pipeline.loop.retrievers import with_one_search
from pipeline.loop.strategies.base import Proposal, Strategy
from pipeline.loop.unanswerable import missing_twin, unanswerable_twin
from pipeline.registry import load
from pipeline.types import (
    Cause,
    Draft,
    Feedback,
    GradedRollout,
    Label,
    Record,
    Round,
    Seed,
    Status,
    Stop,
    known_to,
    naturalness,
    sha256,
)
from pipeline.types.twin_record import as_record

NOTHING_ASKED = Feedback(label=Label.UNSOUND, cause=Cause.GENERATOR_ERROR, message="no usable draft was proposed")


async def run_seed(seed: Seed, context: RunContext) -> Record:
    """Run one seed to its end. Raises ProviderError or RetrievalError for a fault outside: the seed is still owed."""
    strategy = cast(Strategy, load("strategies", context.config.strategy))
    context = replace(context, memory=SeedMemory())
    rounds: list[Round] = []
    confirmed: list[GradedRollout] = []
    measured: list[GradedRollout] = []
    try:
        ledger.enter("round 0")
        proposal, context = await _in_time(strategy.propose, seed, context)
        while True:
            rounds.append(await trial(proposal, len(rounds), seed, context))
            feedback = rounds[-1].feedback
            if feedback is None or proposal.draft is None or len(rounds) > context.config.loop.rounds:
                break
            ledger.enter(f"round {len(rounds)}")
            proposal, context = await _in_time(lambda to, own: strategy.revise(to, own, rounds), seed, context)
        if feedback is None and proposal.draft and context.config.loop.confirm:
            measured = await band.confirm(proposal.draft, context)
            if not band.missed(measured, context.config):
                confirmed = await confirm(proposal.draft, context)
                rounds[-1] = await contested(rounds[-1], proposal.draft, [*confirmed, *measured], context)
        status, reason = outcome(rounds, confirmed, measured, seed, context)
    except DeadlineExceeded:
        status, reason = Status.FAILED, "deadline"
    except FormatError as error:
        status, reason = Status.FAILED, "no_verdict"
        ledger.note_unread(str(error))
    record = Record(
        key=seed.key,
        seed=seed,
        status=status,
        reason=reason,
        rounds=tuple(rounds),
        confirmation=tuple(rollout for rollout, _ in confirmed),
        confirmation_verdicts=tuple(verdict for _, verdict in confirmed),
        measurements=(measurement(seed.key, context.config.policy, measured, None, context),) if measured else (),
        lineage=context.lineage,
    )
    return await enrich(await with_one_search(_assessed(record, context), context), context)


async def trial(proposal: Proposal, index: int, seed: Seed, context: RunContext) -> Round:
    """Audit and try one draft. The round's feedback is None for a candidate."""
    draft, config, target = proposal.draft, context.config, band.least_steps(seed, context.config)
    loop = config.loop
    if draft is None:
        return Round(
            index=index,
            agent=proposal.trajectory,
            draft=None,
            tree=proposal.tree,
            checked=proposal.checked,
            feedback=NOTHING_ASKED,
        )
    read = await examine(draft, target, context)
    findings = read.findings
    fatal = any(finding.fatal for finding in findings)
    drawn = is_control(seed, index, loop.control_share)
    tried: list[GradedRollout] = []
    if config.steps_required and (not fatal or drawn):
        tried = await attempts(draft, context, target=target, whole=drawn)
    needed = tried[: _decided(tried, target, config)] if loop.early_stop else tried
    linked = linked_by_reader(read.probes)
    tell = partial(assess.feedback, draft, needed, target=target, skips=skips_count(context), linked=linked)
    feedback = assess.feedback_from_audit(draft, findings) if fatal else tell() if config.steps_required else None
    policy: list[GradedRollout] = []
    if banded := feedback is None and config.band is not None:
        ledger.enter(ledger.POLICIES)
        policy = await band.attempts(draft, () if config.policy else tried, context)
        feedback = band.feedback(draft, policy, config)
        ledger.enter(f"round {index}")
    if not config.policy:  # what decides are the solver's own tries
        tried, needed, policy = policy or tried, policy or needed, []
    other = await alternatives(draft, [*needed, *policy], feedback, context)
    if other.findings:
        feedback = assess.feedback_from_audit(draft, other.findings)
    elif other.probes and feedback is not None and not banded:
        feedback = tell(refuted=True)
    return Round(
        index=index,
        agent=proposal.trajectory,
        draft=draft,
        tree=proposal.tree,
        findings=(*findings, *other.findings),
        probes=(*read.probes, *other.probes),
        checked=tuple(probe for probe in proposal.checked if not any(probe is one for one in read.probes)),
        rollouts=tuple(rollout for rollout, _ in tried),
        verdicts=tuple(verdict for _, verdict in tried),
        policy_rollouts=tuple(rollout for rollout, _ in policy),
        policy_verdicts=tuple(verdict for _, verdict in policy),
        decided=len(needed),
        control=drawn and config.steps_required and (fatal or len(needed) < len(tried)),
        feedback=feedback,
    )


async def attempts(draft: Draft, context: RunContext, *, target: int, whole: bool) -> list[GradedRollout]:
    """K rollouts, or as many as it takes to decide; all K of a control (`whole`).

    Rollouts count in index order, so they run one after another where the next may not be needed.
    """
    loop = context.config.loop
    if whole or not loop.early_stop:
        return await _gathered(draft, range(loop.rollouts), context)
    tried: list[GradedRollout] = []
    while _decided(tried, target, context.config) is None:
        tried.append(await graded_rollout(draft, len(tried), context))
    return tried


def _decided(tried: list[GradedRollout], target: int, config: RunConfig) -> int | None:
    verdicts = [verdict for _, verdict in tried]
    return assess.decided(verdicts, target, rollouts=config.loop.rollouts, screen=config.screened())


async def confirm(draft: Draft, context: RunContext) -> list[GradedRollout]:
    """K fresh rollouts: the least of the first K is a lucky figure, so none of it is exported."""
    ledger.enter("confirmation")
    k = context.config.loop.rollouts
    return await _gathered(draft, range(k, 2 * k), context)


async def contested(last: Round, draft: Draft, confirmed: list[GradedRollout], context: RunContext) -> Round:
    """The candidate's round with what was found about another answer on which the fresh rollouts agree."""
    other = await alternatives(draft, confirmed, None, context)
    more = {"probes": (*last.probes, *other.probes), "findings": (*last.findings, *other.findings)}
    return last.model_copy(update=more)


async def _gathered(draft: Draft, samples: range, context: RunContext) -> list[GradedRollout]:
    return await asyncio.gather(*(graded_rollout(draft, sample, context) for sample in samples))


def outcome(
    rounds: Sequence[Round],
    confirmed: Sequence[GradedRollout],
    measured: Sequence[GradedRollout],
    seed: Seed,
    context: RunContext,
) -> tuple[Status, str]:
    """How the seed ends, from its last draft, its confirmation, and that by the model that the pairs are for."""
    target = band.least_steps(seed, context.config)
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
    if against := [finding for finding in last.findings if finding.fatal]:
        return Status.REJECTED, against[0].cause.value
    if band.missed(measured or confirmed, context.config):
        return Status.REJECTED, "outside_band"
    steps = [verdict.steps for _, verdict in confirmed if verdict.correct]
    if not steps:
        return Status.REJECTED, "unconfirmed"
    if min(steps) < target:
        return Status.REJECTED, "below_target"
    if last.draft and skips_count(context) and (skipped := assess.skipping(last.draft, confirmed, target)):
        return Status.REJECTED, skipped.cause.value
    return Status.ACCEPTED, ""


def no_draft(stop: Stop) -> str:
    """The reason of a seed whose author ended so without a draft: by its own choice, by what, or before it began."""
    own = {Stop.ANSWERED: "", Stop.SEARCH_BUDGET: "", Stop.FORMAT_ERRORS: ":format_errors"}
    return stop.value if stop is Stop.NO_WALK else f"no_draft{own.get(stop, ':limits')}"


def skips_count(context: RunContext) -> bool:
    """Is a draft too easy if a correct rollout skips hops? The demo solver's search finds too much that it never asks
    for, and SAGE's own loop knows no such rule."""
    return context.config.loop.audit and not context.lineage.solver_digest


def is_control(seed: Seed, index: int, share: float) -> bool:
    """Does this draft run to full K even if audit or early stop decides? Drawn by hash, not by chance."""
    return int(sha256(f"control:{seed.key}:{index}")[:8], 16) < share * 2**32


async def enrich(record: Record, context: RunContext) -> Record:
    """With the optional stages of an accepted record, or with what was missing of them.

    None of it touches what was accepted. A rollout that its clock ended, or whose judge gave nothing readable, is left
    out and its stage is `missing`. Raises ProviderError and RetrievalError.
    """
    if record.status is not Status.ACCEPTED or record.draft is None:
        return record
    distractor_eval = await evaluate_distractors(record.draft, context, record.distractor_eval)
    teacher = await teacher_rollouts(record.draft, distractor_eval, record.key, context, record.teacher_rollouts)
    measured = await policy_measurements(record, context)
    twin = await unanswerable_twin(record.draft, record.key, context, record.twin)
    more = {"distractor_eval": distractor_eval, "teacher_rollouts": teacher, "measurements": measured, "twin": twin}
    record = await _twin_measured(record.model_copy(update=more), context)
    own = as_record(record)
    owed = {
        "distractors": missing_pairs(distractor_eval, context),
        "teacher": missing_samples(distractor_eval, teacher, context),
        "policies": unmeasured(record, context) or (own is not None and unmeasured(own, context)),
        "unanswerable": missing_twin(record.key, twin, context),
    }
    return record.model_copy(update={"missing": tuple(stage for stage, lacking in owed.items() if lacking)})


async def _twin_measured(record: Record, context: RunContext) -> Record:
    """With what the models to be trained make of its twin, where it has one."""
    if record.twin is None or (own := as_record(record)) is None:
        return record
    measured = await policy_measurements(own, context)
    return record.model_copy(update={"twin": record.twin.model_copy(update={"measurements": measured})})


def _assessed(record: Record, context: RunContext) -> Record:
    """With what its rollouts measure and agree on, where there are any, who knows the answer by heart, and what can be
    skipped."""
    last, draft = record.last, record.draft
    if last is None or draft is None:
        return record
    attacked = (f.hops for f in last.findings if f.check == "end")
    went = (grading.skipped(draft, r, v.found_at) for r, v in record.graded if v.correct)
    solves = context.config.models.of("solver").model
    closed = next((p for p in last.probes if (p.check, p.model) == ("closed_book", solves)), None)
    own = (assess.assessment(record.measured, context, closed),) if record.measured else ()
    policies = map(GradedRollout, last.policy_rollouts, last.policy_verdicts)
    voters = () if draft.answer_items else agreed([*record.graded, *policies])
    more = {
        "assessments": own,
        "skippable_hops": tuple(sorted({hop for hops in (*attacked, *went) for hop in hops})),
        "known_to": known_to(last.probes),
        "naturalness": naturalness(last.probes),
        "agreed_answer": voters[0].answer if voters else "",
    }
    return record.model_copy(update=more)


async def _in_time(
    start: Callable[[Seed, RunContext], Awaitable[Proposal]], seed: Seed, context: RunContext
) -> tuple[Proposal, RunContext]:
    """What an author came back with, and the context with what its checks said: what one said that its clock ended is
    forgotten, so that the next try does the same as if it were the first."""

    async def attempt() -> tuple[Proposal, RunContext]:
        own = replace(context, memory=context.memory.copy())
        return await start(seed, own), own

    return await in_time(attempt, context.config.how.rollout_seconds)
