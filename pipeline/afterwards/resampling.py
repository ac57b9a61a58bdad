"""Run a branching method over a run: choose the states to resample, within a number of calls.

The order of the states is a pure function of the records, and a wave of them begins only while the calls of all
earlier ones leave room. So the same command gives the same forks at any concurrency and after any kill.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pipeline.afterwards.reopening import make_graded_rollout
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
"""Estimated calls of a fork. A wave is sized by it to stay within the remaining calls."""
LARGEST = 16


class Branched(Data):
    """What a method has resampled over a run."""

    method: str
    forks: int
    calls: int
    solved: int
    """Forks from which at least one fresh sample was correct."""
    complete: bool
    """Whether every state was resampled; otherwise more calls give more forks."""


class _StateToFork(NamedTuple):
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
    """Resample states in their order until `calls` are used or no state is left. The caller holds the run's lock.

    Forks of earlier commands count and cost nothing. `progress` is called with forks and calls after each wave. Raises
    ProviderError, RetrievalError and BudgetExceeded; forks completed by then are kept.
    """
    method = base.load(name)
    states, forks, used_calls = _list_states(method, records), list[Fork](), 0
    with closing(Forks(folder)) as stored_forks, closing(AttemptLog(folder)) as attempt_log:

        async def fork_state(to_fork: _StateToFork) -> Fork:
            state = (name, *to_fork.state)
            if not stored_forks.has(to_fork.record.key, state):
                with attempt_log.noting(to_fork.record.seed, "forked", name):
                    enter("branching")
                    stored_forks.append(name, await _make_fork(name, method, to_fork, context))
            return stored_forks.get(to_fork.record.key, state)

        while used_calls < calls:
            wave = list(islice(states, max(1, min(LARGEST, (calls - used_calls) // USUAL))))
            if not wave:
                break
            forks += await run_concurrently(wave, fork_state, context.config.seeds_at_work(), lambda ended: None)
            used_calls = sum(fork.calls for fork in forks)
            progress(len(forks), used_calls)
    solved, complete = sum(fork.solved > 0 for fork in forks), next(states, None) is None
    return Branched(method=name, forks=len(forks), calls=used_calls, solved=solved, complete=complete)


def _list_states(method: base.Method, records: Iterable[Record]) -> Iterator[_StateToFork]:
    for record in records:
        if record.status is Status.ACCEPTED and record.draft:
            rollouts_by_sample = base.by_sample(record)
            for state in method.states(record):
                yield _StateToFork(record, record.draft, state, rollouts_by_sample[state.source].rollout.trajectory)


async def _make_fork(name: str, method: base.Method, to_fork: _StateToFork, context: RunContext) -> Fork:
    branches = await _sample_branches(method, to_fork, None, context)
    controls: tuple[Branch, ...] = ()
    if method.controls and any(branch.verdict.correct for branch in branches):
        controls = await _sample_branches(method, to_fork, to_fork.source.messages[to_fork.state.prefix], context)
    source, prefix = to_fork.state
    return Fork(key=to_fork.record.key, method=name, source=source, prefix=prefix, branches=branches, controls=controls)


async def _sample_branches(
    method: base.Method, to_fork: _StateToFork, action: Message | None, context: RunContext
) -> tuple[Branch, ...]:
    """Make one branch for each fresh sample, under sample indices that no rollout of the question has."""
    retriever = context.retriever
    agent, first_sample = solver(context.config, context.llm, retriever), 2 * context.config.loop.rollouts

    async def sample_branch(sample: int) -> Branch:
        start = partial(branch_off, agent, to_fork.source, to_fork.state.prefix, sample=sample, action=action)
        rollout, verdict = await make_graded_rollout(to_fork.draft, start, context)
        return Branch(rollout=rollout, verdict=verdict)

    return tuple(await asyncio.gather(*map(sample_branch, range(first_sample, first_sample + method.attempts))))
