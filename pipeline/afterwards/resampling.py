"""The execution of a branching method over a run: which states are asked about, within how many calls.

The order of the states is a pure function of the records, and a wave of them is begun only while the calls of all
earlier ones leave room. So the same command gives the same forks at any concurrency and after any kill.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pipeline.afterwards.reopening import graded
from pipeline.agents.replay import branch as branch_off
from pipeline.agents.solver import solver
from pipeline.context import RunContext
from pipeline.exports.branching import base
from pipeline.exports.branching.base import State
from pipeline.llm.concurrent_work import run_concurrently
from pipeline.llm.ledger import enter
from pipeline.run.attempts import AttemptLog
from pipeline.store.amendments import Forks
from pipeline.types import Branch, Data, Draft, Fork, Message, Record, Status, Trajectory

USUAL = 25
"""Calls of a fork, by which a wave is sized so that it stays within what is left."""
LARGEST = 16


class Branched(Data):
    """How a method stands over a run."""

    method: str
    forks: int
    calls: int
    solved: int
    """Forks from which at least one fresh sample was correct."""
    complete: bool
    """Every state was asked about; otherwise more calls give more."""


class _Owed(NamedTuple):
    record: Record
    draft: Draft
    state: State
    source: Trajectory


async def branch(
    name: str,
    records: Iterable[Record],
    context: RunContext,
    folder: Path,
    calls: int,
    progress: Callable[[int, int], None],
) -> Branched:
    """Ask about the states in their order until so many calls are used, or no state is left. The caller holds the run's
    lock.

    Forks that are kept count, and cost nothing. `progress` is called with forks and calls after each wave. Raises
    ProviderError, RetrievalError and BudgetExceeded; what had ended is kept.
    """
    method = base.load(name)
    owed, done, used = _states(method, records), list[Fork](), 0
    with closing(Forks(folder)) as kept, closing(AttemptLog(folder)) as notes:

        async def one(owed: _Owed) -> Fork:
            state = (name, *owed.state)
            if not kept.has(owed.record.key, state):
                with notes.noting(owed.record.seed, "forked", name):
                    enter("branching")
                    kept.append(name, await _fork(name, method, owed, context))
            return kept.get(owed.record.key, state)

        while used < calls:
            wave = list(islice(owed, max(1, min(LARGEST, (calls - used) // USUAL))))
            if not wave:
                break
            done += await run_concurrently(wave, one, context.config.seeds_at_work(), lambda ended: None)
            used = sum(fork.calls for fork in done)
            progress(len(done), used)
    solved, complete = sum(fork.solved > 0 for fork in done), next(owed, None) is None
    return Branched(method=name, forks=len(done), calls=used, solved=solved, complete=complete)


def _states(method: base.Method, records: Iterable[Record]) -> Iterator[_Owed]:
    """The states of all accepted records, in order."""
    for record in records:
        if record.status is Status.ACCEPTED and record.draft:
            tried = base.by_sample(record)
            for state in method.states(record):
                yield _Owed(record, record.draft, state, tried[state.source].rollout.trajectory)


async def _fork(name: str, method: base.Method, owed: _Owed, context: RunContext) -> Fork:
    """The fresh samples from the state, and the controls where one of them was correct."""
    fresh = await _branches(method, owed, None, context)
    controls: tuple[Branch, ...] = ()
    if method.CONTROLS and any(branch.verdict.correct for branch in fresh):
        controls = await _branches(method, owed, owed.source.messages[owed.state.prefix], context)
    source, prefix = owed.state
    return Fork(key=owed.record.key, method=name, source=source, prefix=prefix, branches=fresh, controls=controls)


async def _branches(
    method: base.Method, owed: _Owed, action: Message | None, context: RunContext
) -> tuple[Branch, ...]:
    """One for each fresh sample: numbers that no rollout of the question has had."""
    retriever = context.retriever
    agent, first = solver(context.config, context.llm, retriever), 2 * context.config.loop.rollouts

    async def one(sample: int) -> Branch:
        start = partial(branch_off, agent, owed.source, owed.state.prefix, sample=sample, action=action)
        rollout, verdict = await graded(owed.draft, start, context)
        return Branch(rollout=rollout, verdict=verdict)

    return tuple(await asyncio.gather(*map(one, range(first, first + method.ATTEMPTS))))
