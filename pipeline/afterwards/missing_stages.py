"""Run the optional stages that accepted pairs lack."""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pipeline.context import RunContext
from pipeline.llm.base import LLM, Completion, Request
from pipeline.llm.concurrent_work import run_concurrently
from pipeline.loop.stages import run_stages
from pipeline.run.attempts import AttemptLog
from pipeline.store.amendments import Completions
from pipeline.types import CompletedStages, Data, PolicyMeasurement, Record, Status

APART = 1000
"""Distance between the sample indices of two attempts at a judgement: more than one attempt uses."""


class Completing(Data):
    """How many pairs of a run have all optional stages."""

    pairs: int
    """Accepted pairs that lacked a stage when this began."""
    completed: int
    """How many of those pairs lack nothing now."""
    missing: dict[str, int]
    """The number of pairs that still lack a stage, by stage."""


async def complete(
    records: Iterable[Record], context: RunContext, folder: Path, progress: Callable[[int], None]
) -> Completing:
    """Run the stages that each accepted record lacks. The caller holds the run's lock.

    Raises ProviderError, RetrievalError and BudgetExceeded; records completed by then are kept.
    """
    with closing(Completions(folder)) as completions, closing(AttemptLog(folder)) as attempt_log:
        # A record that a gate dropped is rejected, so it is no pair to complete.
        incomplete = [
            record for record in map(completions.join, records) if record.missing and record.status is Status.ACCEPTED
        ]

        async def complete_record(record: Record) -> tuple[str, ...]:
            with attempt_log.noting(record.seed, "completed", ",".join(record.missing)):
                completed = await _run_missing_stages(record, completions.attempts(record.key) + 1, context)
                completions.append("stages", completed)
            return completed.missing

        missing_stages = await run_concurrently(incomplete, complete_record, context.config.seeds_at_work(), progress)
    return Completing(
        pairs=len(incomplete),
        completed=missing_stages.count(()),
        missing=dict(Counter(stage for missing in missing_stages for stage in missing)),
    )


async def _run_missing_stages(record: Record, attempt: int, context: RunContext) -> CompletedStages:
    enriched = await run_stages(record, replace(context, llm=_ResampledJudging(context.llm, attempt)))
    twin = enriched.twin and enriched.twin.model_copy(
        update={"measurements": _without_remeasured(enriched.twin.measurements)}
    )
    return CompletedStages(
        key=record.key,
        attempt=attempt,
        measurements=_without_remeasured(enriched.measurements),
        twin=twin,
        **{
            name: getattr(enriched, name)
            for name in ("distractor_eval", "teacher_rollouts", "again", "again_verdicts", "missing")
        },
    )


def _without_remeasured(measurements: Iterable[PolicyMeasurement]) -> tuple[PolicyMeasurement, ...]:
    return tuple(measurement for measurement in measurements if not measurement.order)


class _ResampledJudging:
    """Ask judges under sample indices that no earlier attempt used.

    Under the earlier ones the cache would return the answer that could not be read. Agents' requests keep their
    indices, so that no answer is paid for twice.
    """

    def __init__(self, llm: LLM, attempt: int) -> None:
        self._llm, self._sample_shift = llm, APART * attempt

    async def complete(self, request: Request) -> Completion:
        if request.output:
            request = request.model_copy(update={"sample": request.sample + self._sample_shift})
        return await self._llm.complete(request)
