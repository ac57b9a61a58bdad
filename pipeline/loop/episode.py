"""The loop of one seed: propose, check, run, give feedback and revise, at most R times; then measure the candidate.

Every seed ends as one record: accepted, rejected(reason) or failed(reason).
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from pipeline.agents import grading
from pipeline.config.loop import draw_strategy
from pipeline.context import RunContext, SeedMemory
from pipeline.errors import DeadlineExceeded, FormatError, RequestRefused
from pipeline.llm import ledger
from pipeline.llm.deadline import with_timeouts
from pipeline.loop import assess, draft_rollouts, harden, seekers, solve_rates
from pipeline.loop.acceptance import FinalRollouts, decide_outcome, is_below_range
from pipeline.loop.checks.alternatives import check_agreed_answer, find_agreeing_rollouts
from pipeline.loop.examine import examine
from pipeline.loop.policies import build_measurement
from pipeline.loop.retrievers import add_one_search
from pipeline.loop.stages import run_stages
from pipeline.loop.strategies.base import Proposal, Strategy, load_strategy
from pipeline.types import Cause, Draft, Feedback, GradedRollout, Label, Reason, ReasonCode, Record, Round, Seed, Status
from pipeline.types.model_probe import known_to, naturalness

T = TypeVar("T")
_NO_DRAFT = Feedback(label=Label.UNSOUND, cause=Cause.GENERATOR_ERROR, message="no usable draft was proposed")


async def run_seed(seed: Seed, context: RunContext) -> Record:
    """Run one seed to its end.

    Raises:
        ProviderError: the endpoint failed. The seed is still owed.
        RetrievalError: the search failed. The seed is still owed.
    """
    strategy, context = _prepare_seed(seed, context)
    rounds, final = list[Round](), FinalRollouts()
    try:
        ledger.enter("round 0")
        proposal, context = await _write_draft(strategy.propose, seed, context)
        while True:
            rounds.append(await run_round(proposal, len(rounds), seed, context))
            feedback = rounds[-1].feedback
            if feedback is None or proposal.draft is None or len(rounds) > context.config.loop.rounds:
                break
            ledger.enter(f"round {len(rounds)}")
            proposal, context = await _write_draft(
                lambda seed, context: strategy.revise(seed, context, rounds), seed, context
            )
        if feedback is None and proposal.draft:
            await _measure(proposal.draft, rounds, final, seed, context)
        status, reason = decide_outcome(rounds, final, seed, context)
    except DeadlineExceeded:
        status, reason = Status.FAILED, Reason(ReasonCode.DEADLINE)
    except (FormatError, RequestRefused) as error:
        code = ReasonCode.NO_VERDICT if isinstance(error, FormatError) else ReasonCode.REFUSED
        status, reason = Status.FAILED, Reason(code)
        ledger.note_end_cause(str(error))
    confirmation, confirmation_verdicts = GradedRollout.split(final.confirmed)
    seeker_rollouts, seeker_verdicts = GradedRollout.split(final.sought)
    policy, measured = context.config.policy, final.measured
    record = Record(
        key=seed.key,
        seed=seed,
        status=status,
        reason=str(reason),
        rounds=tuple(rounds),
        confirmation=confirmation,
        confirmation_verdicts=confirmation_verdicts,
        seekers=seeker_rollouts,
        seeker_verdicts=seeker_verdicts,
        measurements=(build_measurement(seed.key, policy, measured, None, context),) if measured else (),
        lineage=context.lineage,
    )
    record = await add_one_search(_add_assessment(record, context), context)
    return await run_stages(record, context)


async def _measure(draft: Draft, rounds: list[Round], final: FinalRollouts, seed: Seed, context: RunContext) -> None:
    """Let seekers attack a candidate and complete its rollouts, as far as no earlier ones reject it.

    Rollouts are stored at once, so that a fault in a later stage does not lose them. A solve rate as the target chooses
    drafts by the rollouts that it is computed from, so that only fresh ones measure it.
    """
    config = context.config
    if config.difficulty.adversarial:
        final.sought = await seekers.attack(draft, seed.target_steps, context)
        if is_below_range(final.sought, seed, context):
            return
    final.measured = await solve_rates.run_confirmation(draft, context)
    if solve_rates.misses_target(final.measured, config):
        return
    first = rounds[-1]
    if config.band and not config.policy:
        final.confirmed = await draft_rollouts.run_fresh(draft, context)
    else:
        rest = await draft_rollouts.run_rest(draft, len(first.rollouts), context)
        rollouts, verdicts = GradedRollout.split([*first.graded, *rest])
        rounds[-1] = first.model_copy(update={"rollouts": rollouts, "verdicts": verdicts})
    earlier, last = [*first.graded, *first.policy_graded], rounds[-1]
    graded = [*last.graded, *last.policy_graded, *final.confirmed, *final.measured]
    if find_agreeing_rollouts(draft, graded)[:1] != find_agreeing_rollouts(draft, earlier)[:1]:
        # A reader was already asked about the earlier rollouts.
        agreed = await check_agreed_answer(draft, graded, None, context)
        probes, findings = (*last.probes, *agreed.probes), (*last.findings, *agreed.findings)
        rounds[-1] = last.model_copy(update={"probes": probes, "findings": findings})


def _prepare_seed(seed: Seed, context: RunContext) -> tuple[Strategy, RunContext]:
    hardens = context.config.hardens
    name = "harden" if hardens else draw_strategy(context.config.strategy, seed.key)
    strategy = harden.STRATEGY if hardens else load_strategy(name)
    lineage = context.lineage.model_copy(update={"strategy": name})
    brought = context.given[seed.passage.id].question if hardens else ""
    return strategy, replace(context, memory=SeedMemory(brought=brought), lineage=lineage)


async def run_round(proposal: Proposal, index: int, seed: Seed, context: RunContext) -> Round:
    """Check one draft and run it. The feedback of the round is None for a candidate."""
    draft = proposal.draft
    build_round = partial(Round, index=index, agent=proposal.trajectory, tree=proposal.tree)
    if draft is None:
        probes = proposal.review.probes if proposal.review else ()
        return build_round(draft=None, checked=(*proposal.checked, *probes), feedback=_NO_DRAFT)
    target = solve_rates.least_steps(seed, context.config)
    checks = await examine(draft, target, context, review=proposal.review)
    attempts = await draft_rollouts.run_draft(draft, checks, index, seed, context)
    feedback = attempts.feedback
    agreed = await check_agreed_answer(draft, [*attempts.solver, *attempts.policy], feedback, context)
    if agreed.findings:
        feedback = assess.feedback_from_findings(agreed.findings)
    elif agreed.probes and feedback and feedback.cause not in (Cause.ABOVE_BAND, Cause.BELOW_BAND):
        threshold = solve_rates.find_threshold(seed, context.config)
        feedback = assess.explain_rollouts(draft, attempts.solver, threshold, refuted=True)
    rollouts, verdicts = GradedRollout.split(attempts.solver)
    policy_rollouts, policy_verdicts = GradedRollout.split(attempts.policy)
    return build_round(
        draft=draft,
        findings=(*checks.findings, *agreed.findings),
        probes=(*checks.probes, *agreed.probes),
        checked=tuple(probe for probe in proposal.checked if not any(probe is final for final in checks.probes)),
        rollouts=rollouts,
        verdicts=verdicts,
        policy_rollouts=policy_rollouts,
        policy_verdicts=policy_verdicts,
        feedback=feedback,
    )


def _add_assessment(record: Record, context: RunContext) -> Record:
    """Add what rollouts and probes show together: difficulty, skippable hops, models that know the answer, ..."""
    last, draft = record.last, record.draft
    if last is None or draft is None:
        return record
    skipped = (
        grading.skipped_hops(draft, rollout, verdict.found_at) for rollout, verdict in record.graded if verdict.correct
    )
    solver = context.config.models.of("solver").model
    closed = next((probe for probe in last.probes if (probe.check, probe.model) == ("closed_book", solver)), None)
    voters = find_agreeing_rollouts(draft, [*record.graded, *last.policy_graded])
    fields = {
        "assessments": (assess.build_assessment(record.measured, context, closed),) if record.measured else (),
        "skippable_hops": tuple(sorted({hop for hops in skipped for hop in hops})),
        "known_to": known_to(last.probes),
        "naturalness": naturalness(last.probes),
        "agreed_answer": voters[0].answer if voters else "",
    }
    return record.model_copy(update=fields)


async def _write_draft(
    write: Callable[[Seed, RunContext], Awaitable[Proposal]], seed: Seed, context: RunContext
) -> tuple[Proposal, RunContext]:
    """Let the generator write a draft. Return it with a context that remembers its checks.

    Each attempt gets a copy of the memory, so that an attempt that times out leaves no trace in the next one.
    """

    async def attempt() -> tuple[Proposal, RunContext]:
        fresh = replace(context, memory=context.memory.copy())
        return await write(seed, fresh), fresh

    return await with_timeouts(attempt, context.config.runtime.rollout_seconds)
