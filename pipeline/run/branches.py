"""The execution of a branching method over a run: which states are asked about, within how many calls, each fork kept
as it ends.

The order of the states is a pure function of the records, and a wave of them is begun only while the calls of all
earlier ones leave room. So the same command gives the same forks at any concurrency and after any kill.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pipeline.agents.replay import branch
from pipeline.agents.solver import solver
from pipeline.context import RunContext
from pipeline.dataset.branching import base
from pipeline.dataset.branching.base import State
from pipeline.llm.ledger import enter
from pipeline.run.attempts import Notes
from pipeline.run.remeasure import judged
from pipeline.store.branches import Branches
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


class Owed(NamedTuple):
    record: Record
    draft: Draft
    state: State
    source: Trajectory


class Campaign:
    """A method over a run whose lock the caller holds. A context manager."""

    def __init__(self, name: str, context: RunContext, folder: Path) -> None:
        self.name, self.method, self._site = name, base.load(name), context
        self._kept, self._notes = Branches(folder), Notes(folder)
        self._gate = asyncio.Semaphore(context.config.seeds_at_work())

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()
        self._notes.close()

    def owed(self, records: Iterable[Record]) -> Iterator[Owed]:
        """The states of all accepted records, in order."""
        for record in records:
            if record.status is Status.ACCEPTED and record.draft:
                tried = base.attempts(record)
                for state in self.method.states(record):
                    yield Owed(record, record.draft, state, tried[state.source].rollout.trajectory)

    async def run(self, records: Iterable[Record], calls: int, told: Callable[[int, int], None]) -> Branched:
        """Ask about the states in their order until so many calls are used, or no state is left.

        Forks that are kept count, and cost nothing. `told` hears forks and calls after each wave. Raises ProviderError,
        RetrievalError and BudgetExceeded; what had ended is kept.
        """
        owed, forks, used, solved = self.owed(records), 0, 0, 0
        while used < calls:
            wave = list(islice(owed, max(1, min(LARGEST, (calls - used) // USUAL))))
            if not wave:
                break
            # All of the wave may end, so that what is in flight when one fails is kept.
            ended = await asyncio.gather(*map(self._fork, wave), return_exceptions=True)
            for fork in ended:
                if isinstance(fork, BaseException):
                    raise fork
                forks, used, solved = forks + 1, used + fork.calls, solved + (fork.solved > 0)
            told(forks, used)
        complete = next(owed, None) is None
        return Branched(method=self.name, forks=forks, calls=used, solved=solved, complete=complete)

    async def _fork(self, owed: Owed) -> Fork:
        """What is kept of the state, or what is asked now: kept and noted as it ends."""
        wanted = (self.name, *owed.state)
        kept = [fork for fork in self._kept.of(owed.record.key) if (fork.method, fork.source, fork.prefix) == wanted]
        if kept:
            return kept[0]
        with self._notes.noting(owed.record.seed, "forked", self.name):
            enter("branching")
            fork = await self._asked(owed)
            self._kept.append(fork)
        return fork

    async def _asked(self, owed: Owed) -> Fork:
        """The fresh samples, and the controls where they are needed."""
        fresh = await self._branches(owed, None)
        controls: tuple[Branch, ...] = ()
        if self.method.CONTROLS and any(branch.verdict.correct for branch in fresh):
            controls = await self._branches(owed, owed.source.messages[owed.state.prefix])
        return Fork(
            key=owed.record.key,
            method=self.name,
            source=owed.state.source,
            prefix=owed.state.prefix,
            branches=fresh,
            controls=controls,
        )

    async def _branches(self, owed: Owed, action: Message | None) -> tuple[Branch, ...]:
        """One for each fresh sample: numbers that no rollout of the question has had."""
        first = 2 * self._site.config.loop.rollouts
        samples = range(first, first + self.method.ATTEMPTS)
        return tuple(await asyncio.gather(*(self._branch(owed, sample, action) for sample in samples)))

    async def _branch(self, owed: Owed, sample: int, action: Message | None) -> Branch:
        context, prefix = self._site, owed.state.prefix
        agent = solver(context.config, context.llm, context.retriever)
        start = partial(branch, agent, owed.source, prefix, sample=sample, action=action)
        async with self._gate:
            rollout, verdict = await judged(owed.draft, start, context)
        return Branch(rollout=rollout, verdict=verdict)
