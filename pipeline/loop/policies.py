"""How hard an accepted pair is for each model to be trained, by fresh rollouts and by its answers from memory.

Acceptance and the run's own difficulty do not depend on these measurements.
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
from pipeline.loop.assess import build_assessment
from pipeline.loop.checks.closed_book import ask_from_memory
from pipeline.types import KNOWN_TRIES, AnswerType, Draft, GradedRollout, PolicyMeasurement, Probe, Record, sha256
from pipeline.types.assessment import WITH_DISTRACTORS

FIRST_SAMPLE = 1000
"""The samples of a run stay below it. A model that is also the solver has met the question before, and its cached
answers must not be counted again."""
Attempt = Callable[[Draft, int, RunContext, ModelConfig], Awaitable[GradedRollout]]
"""Make and grade one rollout of a model over the index."""


def compute_identity(policy: str, config: RunConfig) -> str:
    """Return a digest of everything that decides the rollouts and verdicts of a policy."""
    inputs = {
        "model": config.models.policies[policy].digest_input(),
        "judges": [judge.digest_input() for judge in config.models.judges()],
        "limits": config.solver.model_dump(mode="json"),
        "retriever": [config.retrieval.identity, config.retrieval.k],
        "rollouts": config.loop.rollouts,
        "prompts": [prompts.load(name).digest for name in ("solver/answer", "judge/verdict", "closed_book/recall")],
    }
    if notes := config.solver_notes():
        inputs["notes"] = [prompts.note(name) for name in notes]
    if config.environment != EnvironmentConfig():
        inputs["environment"] = config.environment.model_dump(mode="json")
    return sha256(orjson.dumps(inputs, option=orjson.OPT_SORT_KEYS).decode())[:12]


async def measure_policies(record: Record, context: RunContext) -> tuple[PolicyMeasurement, ...]:
    """Measure each configured policy, and keep what the record already has.

    A rollout without a verdict is left out (`lacks_measurements`), and so is a policy without any verdict.
    """
    ledger.enter(ledger.POLICIES)
    policies = context.config.models.policies
    plain = await asyncio.gather(*(measure_policy(record, policy, context) for policy in policies))
    varied = await asyncio.gather(*(_measure_with_distractors(record, policy, context) for policy in policies))
    later = (measurement for measurement in record.measurements if measurement.order)
    return (*filter(None, (*plain, *varied)), *later)


def lacks_measurements(record: Record, context: RunContext) -> bool:
    policies = context.config.models.policies
    plain = [_find_earlier(record, policy) for policy in policies]
    uses_distractors = _uses_distractors(record, context)
    varied = [_find_earlier(record, policy + WITH_DISTRACTORS) for policy in policies if uses_distractors]
    is_asked = is_recallable(record)
    return any(measurement is None or (is_asked and measurement.closed_book is None) for measurement in plain) or any(
        measurement is None
        or not {*list_samples(context.config)} <= {rollout.sample for rollout in measurement.rollouts}
        for measurement in (*plain, *varied)
    )


async def measure_policy(
    record: Record, policy: str, context: RunContext, attempt: Attempt | None = None
) -> PolicyMeasurement | None:
    """Make the missing rollouts of a policy, and ask it from memory. Return None if no rollout has a verdict.

    Args:
        record: the record. Its measurement of the policy and the answers from memory in its audit are reused.
        policy: the name of the policy.
        context: the run.
        attempt: how to make a rollout; nothing of the record is reused then.
    """
    draft = record.draft
    assert draft is not None  # noqa: S101 - nothing else is measured
    model, make_attempt = context.config.models.policies[policy], attempt or graded_rollout
    before = None if attempt else _find_earlier(record, policy)
    closed = None if attempt else _reuse_audit_probe(record, model, context) or (before and before.closed_book)
    asked_models = [] if closed or not is_recallable(record) else [model]
    probes, pairs = await asyncio.gather(
        gather_finished(lambda asked_model: ask_from_memory(draft, context, asked_model), asked_models),
        _attempt_missing(before, context, lambda sample: make_attempt(draft, sample, context, model)),
    )
    return build_measurement(record.key, policy, pairs, closed or next(iter(probes), None), context) if pairs else None


async def _measure_with_distractors(record: Record, policy: str, context: RunContext) -> PolicyMeasurement | None:
    draft, evaluation = record.draft, record.distractor_eval
    if draft is None or evaluation is None or not _uses_distractors(record, context):
        return None
    name, model = policy + WITH_DISTRACTORS, context.config.models.policies[policy]
    overlay = build_overlay(context.retriever, draft, evaluation.used, context.config.distractors)
    over = replace(context, retriever=overlay)
    before = _find_earlier(record, name)
    pairs = await _attempt_missing(before, context, lambda sample: graded_rollout(draft, sample, over, model))
    if not pairs:
        return None
    measurement = build_measurement(record.key, policy, pairs, None, context)
    assessment = measurement.assessment.model_copy(update={"policy": name})
    return measurement.model_copy(update={"assessment": assessment})


async def _attempt_missing(
    before: PolicyMeasurement | None, context: RunContext, attempt: Callable[[int], Awaitable[GradedRollout]]
) -> list[GradedRollout]:
    return await attempt_missing(before.graded if before else [], list_samples(context.config), attempt)


def _uses_distractors(record: Record, context: RunContext) -> bool:
    return context.config.distractors.policies and bool(record.distractor_eval and record.distractor_eval.used)


def build_measurement(
    key: str, policy: str, pairs: Sequence[GradedRollout], closed: Probe | None, context: RunContext
) -> PolicyMeasurement:
    model = context.config.models.policies[policy]
    rollouts, verdicts = GradedRollout.split(pairs)
    return PolicyMeasurement(
        key=key,
        identity=compute_identity(policy, context.config),
        reasoning=model.reasoning,
        trainable=model.may_train,
        assessment=build_assessment(verdicts, context, closed, policy=policy),
        rollouts=rollouts,
        verdicts=verdicts,
        closed_book=closed,
    )


def _find_earlier(record: Record, policy: str) -> PolicyMeasurement | None:
    """Return the run's own measurement of a policy, if any, and not one of `digsite remeasure`."""
    run_own = (measurement for measurement in record.measurements if not measurement.order)
    return next((measurement for measurement in run_own if measurement.policy == policy), None)


def is_recallable(record: Record) -> bool:
    return record.draft is not None and record.draft.answer_type is not AnswerType.UNANSWERABLE


def list_samples(config: RunConfig) -> range:
    return range(FIRST_SAMPLE, FIRST_SAMPLE + config.loop.rollouts)


def _reuse_audit_probe(record: Record, model: ModelConfig, context: RunContext) -> Probe | None:
    """Return a model's answers from memory in the audit if they are enough, without their usage, which counts there.

    The audit names only the model. If it asked the same model with other settings too, nothing is reused.
    """
    models = context.config.models
    namesakes = [m for m in (models.of("solver"), *models.policies.values()) if m.model == model.model]
    has_variants = any(namesake.digest_input() != namesakes[0].digest_input() for namesake in namesakes)
    probes = record.last.probes if record.last else ()
    probes = tuple(probe for probe in probes if (probe.check, probe.model) == ("closed_book", model.model))
    if has_variants or len(probes) != 1 or probes[0].tries < KNOWN_TRIES:
        return None
    return Probe(**probes[0].model_dump(exclude={"usage", "judged", "second"}))
