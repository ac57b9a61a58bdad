"""The rollouts of optional stages that accepted pairs lack, made up."""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pipeline.context import RunContext
from pipeline.llm.base import LLM, Completion, Request
from pipeline.llm.concurrent_work import run_concurrently
from pipeline.loop.episode import enrich
from pipeline.run.attempts import AttemptLog
from pipeline.store.amendments import Completions
from pipeline.types import CompletedStages, Data, PolicyMeasurement, Record, Status

APART = 1000
"""Between the sample indices of two attempts at a judgement: more than one attempt uses."""


class Completing(Data):
    """How the optional stages of a run stand."""

    pairs: int
    """Accepted pairs that lacked something when this began."""
    completed: int
    """Of those, how many lack nothing now."""
    missing: dict[str, int]
    """Pairs that still lack it, by stage."""


async def complete(
    records: Iterable[Record], context: RunContext, folder: Path, progress: Callable[[int], None]
) -> Completing:
    """Run what each record lacks. The caller holds the run's lock.

    Raises ProviderError, RetrievalError and BudgetExceeded; what had ended is kept.
    """
    with closing(Completions(folder)) as kept, closing(AttemptLog(folder)) as notes:
        # What a gate dropped is rejected: it stands for no pair.
        owed = [record for record in map(kept.join, records) if record.missing and record.status is Status.ACCEPTED]

        async def one(record: Record) -> tuple[str, ...]:
            with notes.noting(record.seed, "completed", ",".join(record.missing)):
                made = await _made(record, kept.attempts(record.key) + 1, context)
                kept.append("stages", made)
            return made.missing

        left = await run_concurrently(owed, one, context.config.seeds_at_work(), progress)
    return Completing(pairs=len(owed), completed=left.count(()), missing=dict(Counter(s for m in left for s in m)))


async def _made(record: Record, attempt: int, context: RunContext) -> CompletedStages:
    now = await enrich(record, replace(context, llm=_Afresh(context.llm, attempt)))
    twin = now.twin and now.twin.model_copy(update={"measurements": _own(now.twin.measurements)})
    return CompletedStages(
        key=record.key,
        attempt=attempt,
        measurements=_own(now.measurements),
        twin=twin,
        **{
            name: getattr(now, name)
            for name in ("distractor_eval", "teacher_rollouts", "again", "again_verdicts", "missing")
        },
    )


def _own(measurements: Iterable[PolicyMeasurement]) -> tuple[PolicyMeasurement, ...]:
    """Those that the run makes: what `remeasure` added stands in files of its own."""
    return tuple(one for one in measurements if not one.order)


class _Afresh:
    """Asks judges under other sample indices than any attempt before: under theirs, a cache gives the answer that could
    not be read. What agents did is asked for as it was, so that nothing that was paid for is paid for again."""

    def __init__(self, llm: LLM, attempt: int) -> None:
        self._llm, self._shift = llm, APART * attempt

    async def complete(self, request: Request) -> Completion:
        if request.output:
            request = request.model_copy(update={"sample": request.sample + self._shift})
        return await self._llm.complete(request)
