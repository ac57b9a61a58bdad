"""The optional stages of an accepted pair. They add to its record and do not change what was accepted."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pipeline.context import RunContext
from pipeline.distractors.accepted_pair import evaluate_distractors, has_missing_pairs
from pipeline.distractors.teacher import missing_samples, teacher_rollouts
from pipeline.errors import RequestRefused
from pipeline.loop import seekers
from pipeline.loop.policies import lacks_measurements, measure_policies
from pipeline.loop.unanswerable import lacks_twin, make_twin
from pipeline.types import Draft, GradedRollout, Record, Status
from pipeline.types.twin_record import as_record


@dataclass(frozen=True)
class Stage:
    """One optional stage. `run` does what a record lacks of it, and `is_missing` says whether something is left.

    A rollout that timed out, was refused by the server or has no readable verdict is left out, so that it is missing.
    """

    name: str
    run: Callable[[Record, RunContext], Awaitable[Record]]
    is_missing: Callable[[Record, RunContext], bool]


async def run_stages(record: Record, context: RunContext) -> Record:
    """Run what an accepted record lacks of the optional stages. `missing` names those that are not complete.

    Raises:
        ProviderError: the endpoint failed.
        RetrievalError: the search failed.
    """
    if record.status is not Status.ACCEPTED or record.draft is None:
        return record
    refused = set[str]()
    for stage in STAGES:
        try:
            record = await stage.run(record, context)
        except RequestRefused:
            refused.add(stage.name)
    missing = tuple(stage.name for stage in STAGES if stage.name in refused or stage.is_missing(record, context))
    return record.model_copy(update={"missing": missing})


async def _run_distractors(record: Record, context: RunContext) -> Record:
    evaluation = await evaluate_distractors(_require_draft(record), context, record.distractor_eval)
    return record.model_copy(update={"distractor_eval": evaluation})


async def _run_teacher(record: Record, context: RunContext) -> Record:
    draft, evaluation = _require_draft(record), record.distractor_eval
    rollouts = await teacher_rollouts(draft, evaluation, record.key, context, record.teacher_rollouts)
    return record.model_copy(update={"teacher_rollouts": rollouts})


async def _run_policies(record: Record, context: RunContext) -> Record:
    return record.model_copy(update={"measurements": await measure_policies(record, context)})


def _lacks_policies(record: Record, context: RunContext) -> bool:
    twin_record = as_record(record)
    return lacks_measurements(record, context) or (twin_record is not None and lacks_measurements(twin_record, context))


async def _run_twin(record: Record, context: RunContext) -> Record:
    twin = await make_twin(_require_draft(record), record.key, context, record.twin)
    record = record.model_copy(update={"twin": twin})
    if twin and (twin_record := as_record(record)):
        measured_twin = twin.model_copy(update={"measurements": await measure_policies(twin_record, context)})
        record = record.model_copy(update={"twin": measured_twin})
    return record


async def _run_again(record: Record, context: RunContext) -> Record:
    rollouts, verdicts = GradedRollout.split(await seekers.attack_again(record, context))
    return record.model_copy(update={"again": rollouts, "again_verdicts": verdicts})


def _require_draft(record: Record) -> Draft:
    if record.draft is None:
        raise ValueError("an accepted record has a draft")
    return record.draft


STAGES = (
    Stage("distractors", _run_distractors, lambda record, context: has_missing_pairs(record.distractor_eval, context)),
    Stage(
        "teacher",
        _run_teacher,
        lambda record, context: bool(missing_samples(record.distractor_eval, record.teacher_rollouts, context)),
    ),
    Stage("policies", _run_policies, _lacks_policies),
    Stage("unanswerable", _run_twin, lambda record, context: lacks_twin(record.key, record.twin, context)),
    Stage("again", _run_again, lambda record, context: bool(seekers.missing_samples(record, context))),
)
"""In the order in which they run: the teacher and the policies use the distractors."""
