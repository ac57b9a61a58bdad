"""How hard an accepted pair is for each model to be trained: fresh rollouts, and tries from memory alone.

Acceptance and the run's own difficulty rest on none of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import orjson

from pipeline import prompts
from pipeline.agents.solver import graded_rollout
from pipeline.config import RunConfig
from pipeline.config.loop import EnvironmentConfig
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.distractors.accepted_pair import attempt_missing, gather_finished
from pipeline.distractors.hard_passages import build_overlay
from pipeline.llm import ledger
from pipeline.loop.assess import assessment
from pipeline.loop.checks.closed_book import recalled
from pipeline.types import (
    KNOWN_TRIES,
    AnswerType,
    Draft,
    PolicyMeasurement,
    Probe,
    Record,
    Rollout,
    Verdict,
    sha256,
)
from pipeline.types.assessment import WITH_DISTRACTORS

FIRST = 1000
"""The samples are fresh to a model that has met the question before, as the solver: those of a run stay below."""
Attempt = Callable[[Draft, int, RunContext, ModelConfig], Awaitable[tuple[Rollout, Verdict]]]
"""One rollout of a model over the index, with its verdict."""


def identity(policy: str, config: RunConfig) -> str:
    """Digest of all that the rollouts and verdicts of a policy rest on."""
    what = {
        "model": config.models.policies[policy].digest_input(),
        "judges": [judge.digest_input() for judge in config.models.judges()],
        "limits": config.solver.model_dump(mode="json"),
        "retriever": [config.retrieval.identity, config.retrieval.k],
        "rollouts": config.loop.rollouts,
        "prompts": [prompts.load(name).digest for name in ("solver/answer", "judge/verdict", "closed_book/recall")],
    }
    if notes := config.solver_notes():
        what["notes"] = [prompts.note(name) for name in notes]
    if config.environment != EnvironmentConfig():
        what["environment"] = config.environment.model_dump(mode="json")
    return sha256(orjson.dumps(what, option=orjson.OPT_SORT_KEYS).decode())[:12]


async def policy_measurements(record: Record, context: RunContext) -> tuple[PolicyMeasurement, ...]:
    """One for each policy of the configuration; what `record` has of them is kept, and only the rest made.

    A rollout without a verdict is left out (`unmeasured`), and a policy without any.
    """
    ledger.enter(ledger.POLICIES)
    asked = context.config.models.policies
    made = await asyncio.gather(*(measured(record, policy, context) for policy in asked))
    among = await asyncio.gather(*(_measured_among(record, policy, context) for policy in asked))
    return (*(one for one in (*made, *among) if one), *(one for one in record.measurements if one.order))


def unmeasured(record: Record, context: RunContext) -> bool:
    """Does a policy of the configuration lack a rollout, or its tries from memory?"""
    policies = context.config.models.policies
    found = [_before(record, policy) for policy in policies]
    among = [_before(record, policy + WITH_DISTRACTORS) for policy in policies if _resists(record, context)]
    asked = is_recallable(record)
    return any(one is None or (asked and one.closed_book is None) for one in found) or any(
        one is None or not {*_samples(context)} <= {rollout.sample for rollout in one.rollouts}
        for one in (*found, *among)
    )


async def measured(
    record: Record, policy: str, context: RunContext, attempt: Attempt | None = None
) -> PolicyMeasurement | None:
    """All rollouts of the policy that have a verdict; None where there is none. What the run has of them, and what was
    answered in the audit without any passage, is not asked again, but for an `attempt` of the caller's own."""
    draft = record.draft
    assert draft is not None  # noqa: S101 - nothing else is measured
    model, make = context.config.models.policies[policy], attempt or graded_rollout
    before = None if attempt else _before(record, policy)
    closed = None if attempt else _answered_in_audit(record, model, context) or (before and before.closed_book)
    asked = [] if closed or not is_recallable(record) else [model]
    known = zip(before.rollouts, before.verdicts, strict=True) if before else ()
    answered, pairs = await asyncio.gather(
        gather_finished(lambda one: recalled(draft, context, one), asked),
        attempt_missing(known, _samples(context), lambda sample: make(draft, sample, context, model)),
    )
    return measurement(record.key, policy, pairs, closed or next(iter(answered), None), context) if pairs else None


async def _measured_among(record: Record, policy: str, context: RunContext) -> PolicyMeasurement | None:
    """The same samples of the policy with the distractors of the question; None where this is not asked for."""
    draft, tried = record.draft, record.distractor_eval
    if draft is None or tried is None or not _resists(record, context):
        return None
    name, model = policy + WITH_DISTRACTORS, context.config.models.policies[policy]
    over = replace(context, retriever=build_overlay(context.retriever, draft, tried.used, context.config.distractors))
    before = _before(record, name)
    known = zip(before.rollouts, before.verdicts, strict=True) if before else ()
    pairs = await attempt_missing(known, _samples(context), lambda sample: graded_rollout(draft, sample, over, model))
    if not pairs:
        return None
    made = measurement(record.key, policy, pairs, None, context)
    return made.model_copy(update={"assessment": made.assessment.model_copy(update={"policy": name})})


def _resists(record: Record, context: RunContext) -> bool:
    """Are its distractors to be tried on the policies?"""
    return context.config.distractors.policies and bool(record.distractor_eval and record.distractor_eval.used)


def measurement(
    key: str, policy: str, pairs: Sequence[tuple[Rollout, Verdict]], closed: Probe | None, context: RunContext
) -> PolicyMeasurement:
    """What these rollouts of the policy say, of which there is one at least, and its tries without any passage."""
    model = context.config.models.policies[policy]
    rollouts, verdicts = zip(*pairs, strict=True)
    return PolicyMeasurement(
        key=key,
        identity=identity(policy, context.config),
        reasoning=model.reasoning,
        trainable=model.may_train,
        assessment=assessment(verdicts, context, closed, policy=policy),
        rollouts=rollouts,
        verdicts=verdicts,
        closed_book=closed,
    )


def _before(record: Record, policy: str) -> PolicyMeasurement | None:
    """What the run itself has measured so far."""
    return next((one for one in record.measurements if one.policy == policy and not one.order), None)


def is_recallable(record: Record) -> bool:
    """Return whether it can be known by heart: what has no answer cannot."""
    return record.draft is not None and record.draft.answer_type is not AnswerType.UNANSWERABLE


def _samples(context: RunContext) -> range:
    return range(FIRST, FIRST + context.config.loop.rollouts)


def _answered_in_audit(record: Record, model: ModelConfig, context: RunContext) -> Probe | None:
    """What the model answered the audit without any passage, if it was asked often enough, and no other settings of it
    were asked too. It is counted where it was asked."""
    models = context.config.models
    alike = [one.digest_input() for one in (models.of("solver"), *models.policies.values()) if one.model == model.model]
    probes = record.last.probes if record.last else ()
    asked = [probe for probe in probes if probe.check == "closed_book" and probe.model == model.model]
    if any(one != alike[0] for one in alike) or len(asked) != 1 or asked[0].tries < KNOWN_TRIES:
        return None
    return Probe(**asked[0].model_dump(exclude={"usage", "judged", "second"}))
