"""The loop: propose → audit → K rollouts → assess → feedback → revise, at most R times; then K fresh rollouts confirm.

Every seed ends as one record: accepted, rejected(reason) or failed(reason).
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar, cast

from pipeline.agents import grading
from pipeline.config.loop import draw_strategy
from pipeline.context import RunContext, SeedMemory
from pipeline.distractors.accepted_pair import evaluate_distractors, has_missing_pairs
from pipeline.distractors.teacher import missing_samples, teacher_rollouts
from pipeline.errors import DeadlineExceeded, FormatError, RequestRefused
from pipeline.llm import ledger
from pipeline.llm.deadline import with_timeouts
from pipeline.loop import assess, draft_rollouts, harden, seekers, solve_rates
from pipeline.loop.acceptance import is_below_range, outcome
from pipeline.loop.checks.alternatives import agreed, alternatives
from pipeline.loop.examine import examine
from pipeline.loop.policies import measurement, policy_measurements, unmeasured
from pipeline.loop.retrievers import with_one_search
from pipeline.loop.strategies.base import Proposal, Strategy
from pipeline.loop.unanswerable import missing_twin, unanswerable_twin
from pipeline.registry import load
from pipeline.types import Cause, Draft, Feedback, GradedRollout, Label, Record, Round, Seed, Status
from pipeline.types.model_probe import known_to, naturalness
from pipeline.types.twin_record import as_record

T = TypeVar("T")
Tries = list[GradedRollout]
NOTHING_ASKED = Feedback(label=Label.UNSOUND, cause=Cause.GENERATOR_ERROR, message="no usable draft was proposed")


async def run_seed(seed: Seed, context: RunContext) -> Record:
    """Run one seed to its end. Raises ProviderError or RetrievalError for a fault outside: the seed is still owed."""
    strategy, context = _begun(seed, context)
    rounds, confirmed, measured, sought = list[Round](), Tries(), Tries(), Tries()
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
        if feedback is None and proposal.draft:
            # Seekers come first: what they reject needs no confirmation.
            if context.config.difficulty.adversarial:
                sought = await seekers.attack(proposal.draft, seed.target_steps, context)
            if context.config.loop.confirm and not is_below_range(sought, seed, context):
                measured = await solve_rates.confirm(proposal.draft, context)
                if not solve_rates.missed(measured, context.config):
                    confirmed = await draft_rollouts.confirm(proposal.draft, context)
                    rounds[-1] = await contested(rounds[-1], proposal.draft, [*confirmed, *measured], context)
        status, reason = outcome(rounds, confirmed, measured, sought, seed, context)
    except DeadlineExceeded:
        status, reason = Status.FAILED, "deadline"
    except (FormatError, RequestRefused) as error:
        status, reason = Status.FAILED, "no_verdict" if isinstance(error, FormatError) else "refused"
        ledger.note_end_cause(str(error))
    record = Record(
        key=seed.key,
        seed=seed,
        status=status,
        reason=reason,
        rounds=tuple(rounds),
        confirmation=tuple(rollout for rollout, _ in confirmed),
        confirmation_verdicts=tuple(verdict for _, verdict in confirmed),
        seekers=tuple(rollout for rollout, _ in sought),
        seeker_verdicts=tuple(verdict for _, verdict in sought),
        measurements=(measurement(seed.key, context.config.policy, measured, None, context),) if measured else (),
        lineage=context.lineage,
    )
    record = await with_one_search(_assessed(record, context), context)
    return await enrich(record, context)


def _begun(seed: Seed, context: RunContext) -> tuple[Strategy, RunContext]:
    """The strategy of a seed, and the seed's own context."""
    name = "harden" if context.config.hardens else draw_strategy(context.config.strategy, seed.key)
    strategy = cast(Strategy, harden if context.config.hardens else load("strategies", name))
    lineage = context.lineage.model_copy(update={"strategy": name})
    brought = context.given[seed.passage.id].question if context.config.hardens else ""
    return strategy, replace(context, memory=SeedMemory(brought=brought), lineage=lineage)


async def trial(proposal: Proposal, index: int, seed: Seed, context: RunContext) -> Round:
    """Check and try one draft. The round's feedback is None for a candidate."""
    draft = proposal.draft
    made_round = partial(Round, index=index, agent=proposal.trajectory, tree=proposal.tree)
    if draft is None:
        asked = proposal.review.probes if proposal.review else ()
        return made_round(draft=None, checked=(*proposal.checked, *asked), feedback=NOTHING_ASKED)
    target = solve_rates.least_steps(seed, context.config)
    read = await examine(draft, target, context, review=proposal.review)
    made = await draft_rollouts.rollouts(draft, read, index, seed, context)
    other = await alternatives(draft, [*made.own, *made.policy], made.feedback, context)
    feedback = made.feedback
    if other.findings:
        feedback = assess.feedback_from_findings(other.findings)
    elif other.probes and feedback and feedback.cause not in (Cause.ABOVE_BAND, Cause.BELOW_BAND):
        feedback = draft_rollouts.solver_feedback(draft, made.own, seed, context, refuted=True)
    return made_round(
        draft=draft,
        findings=(*read.findings, *other.findings),
        probes=(*read.probes, *other.probes),
        checked=tuple(probe for probe in proposal.checked if not any(probe is kept for kept in read.probes)),
        rollouts=tuple(rollout for rollout, _ in made.own),
        verdicts=tuple(verdict for _, verdict in made.own),
        policy_rollouts=tuple(rollout for rollout, _ in made.policy),
        policy_verdicts=tuple(verdict for _, verdict in made.policy),
        feedback=feedback,
    )


async def contested(last: Round, draft: Draft, confirmed: list[GradedRollout], context: RunContext) -> Round:
    """The candidate's round with what was found about another answer on which the fresh rollouts agree."""
    other = await alternatives(draft, confirmed, None, context)
    more = {"probes": (*last.probes, *other.probes), "findings": (*last.findings, *other.findings)}
    return last.model_copy(update=more)


async def enrich(record: Record, context: RunContext) -> Record:
    """With the optional stages of an accepted record, or with what was missing of them.

    None of it touches what was accepted. A rollout that its clock ended, that the server refused, or whose judge gave
    nothing readable is left out and its stage is `missing`. Raises ProviderError and RetrievalError.
    """
    if record.status is not Status.ACCEPTED or record.draft is None:
        return record
    refused = set[str]()

    async def unless_refused(stage: str, work: Awaitable[T], before: T) -> T:
        try:
            return await work
        except RequestRefused:
            refused.add(stage)
            return before

    draft, key = record.draft, record.key
    written = evaluate_distractors(draft, context, record.distractor_eval)
    distractor_eval = await unless_refused("distractors", written, record.distractor_eval)
    teacher = await teacher_rollouts(draft, distractor_eval, key, context, record.teacher_rollouts)
    measured = await policy_measurements(record.model_copy(update={"distractor_eval": distractor_eval}), context)
    twin = await unless_refused("unanswerable", unanswerable_twin(draft, key, context, record.twin), record.twin)
    more = {"distractor_eval": distractor_eval, "teacher_rollouts": teacher, "measurements": measured, "twin": twin}
    record = record.model_copy(update=more)
    if twin and (own := as_record(record)):
        twin = twin.model_copy(update={"measurements": await policy_measurements(own, context)})
        record = record.model_copy(update={"twin": twin})
    again = await seekers.attack_again(record, context)
    rollouts, verdicts = zip(*again, strict=True) if again else ((), ())
    record = record.model_copy(update={"again": rollouts, "again_verdicts": verdicts})
    own = as_record(record)
    owed = {
        "distractors": has_missing_pairs(distractor_eval, context),
        "teacher": missing_samples(distractor_eval, teacher, context),
        "policies": unmeasured(record, context) or (own is not None and unmeasured(own, context)),
        "unanswerable": missing_twin(key, twin, context),
        "again": bool(seekers.missing_tries(record, context)),
    }
    missing = tuple(stage for stage, lacking in owed.items() if lacking or stage in refused)
    return record.model_copy(update={"missing": missing})


def _assessed(record: Record, context: RunContext) -> Record:
    """With what its rollouts measure and agree on, where there are any, who knows the answer by heart, and what can be
    skipped."""
    last, draft = record.last, record.draft
    if last is None or draft is None:
        return record
    skipped = (grading.skipped_hops(draft, r, v.found_at) for r, v in record.graded if v.correct)
    solves = context.config.models.of("solver").model
    closed = next((p for p in last.probes if (p.check, p.model) == ("closed_book", solves)), None)
    policies = map(GradedRollout, last.policy_rollouts, last.policy_verdicts)
    voters = agreed(draft, [*record.graded, *policies])
    more = {
        "assessments": (assess.assessment(record.measured, context, closed),) if record.measured else (),
        "skippable_hops": tuple(sorted({hop for hops in skipped for hop in hops})),
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

    return await with_timeouts(attempt, context.config.runtime.rollout_seconds)
