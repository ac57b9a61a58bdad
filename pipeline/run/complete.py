"""What accepted pairs lack of their optional stages, made up: kept beside the journal as each ends."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from pipeline.context import RunContext
from pipeline.llm.base import LLM, Completion, Request
from pipeline.loop.episode import enrich
from pipeline.run.attempts import Notes
from pipeline.store.completed import Completed
from pipeline.types import CompletedStages, Data, Record, Status

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
    records: Iterable[Record], context: RunContext, folder: Path, told: Callable[[int], None]
) -> Completing:
    """Make up what each record lacks. The caller holds the run's lock.

    `told` hears how many have ended. Raises ProviderError, RetrievalError and BudgetExceeded; what had ended is kept.
    """
    kept, notes = Completed(folder), Notes(folder)
    # What a gate dropped is rejected: it stands for no pair.
    owed = [record for record in map(kept.joined, records) if record.missing and record.status is Status.ACCEPTED]
    gate, left, ended = asyncio.Semaphore(context.config.seeds_at_work()), Counter[str](), 0

    async def one(record: Record) -> tuple[str, ...]:
        nonlocal ended
        async with gate:
            with notes.noting(record.seed, "completed", ",".join(record.missing)):
                made = await _made(record, kept.attempts(record.key) + 1, context)
                kept.append(made)
            ended += 1
            told(ended)
            return made.missing

    try:
        # All may end, so that what is in flight when one fails is kept.
        for missing in await asyncio.gather(*map(one, owed), return_exceptions=True):
            if isinstance(missing, BaseException):
                raise missing
            left.update([*missing, *([] if missing else ["none"])])
    finally:
        kept.close()
        notes.close()
    return Completing(pairs=len(owed), completed=left.pop("none", 0), missing=dict(left))


async def _made(record: Record, attempt: int, context: RunContext) -> CompletedStages:
    now = await enrich(record, replace(context, llm=_Afresh(context.llm, attempt)))
    return CompletedStages(
        key=record.key, attempt=attempt, opposition=now.opposition, lessons=now.lessons, missing=now.missing
    )


class _Afresh:
    """Asks judges under other sample indices than any attempt before: under theirs, a cache gives the answer that could
    not be read. What agents did is asked for as it was, so that nothing that was paid for is paid for again."""

    def __init__(self, llm: LLM, attempt: int) -> None:
        self._llm, self._shift = llm, APART * attempt

    async def complete(self, request: Request) -> Completion:
        if request.output:
            request = request.model_copy(update={"sample": request.sample + self._shift})
        return await self._llm.complete(request)
