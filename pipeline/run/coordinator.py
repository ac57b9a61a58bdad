"""The execution of a run: which seeds are owed, run so many at a time, each journalled as it ends.

Seeds start in the order of the plan, and none starts that the plan can no longer need. What the outside broke is tried
again after a pause and then stops the run: such a seed stays owed and is never dropped.
"""

import asyncio
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

from pipeline.config import RunConfig
from pipeline.errors import BudgetExceeded, Interrupted, ProviderError, RetrievalError, StoreError, WorkerError
from pipeline.run import resume
from pipeline.run.attempts import Attempt, AttemptLog, attempted
from pipeline.run.callbacks import RunCallbacks
from pipeline.run.gating import Gating
from pipeline.run.interrupt import cancelling
from pipeline.run.plan import Order, PassageSource, Planned, PlanState, askable, bounds, judged, prefix
from pipeline.run.result import RunResult
from pipeline.run.uniform import SameError, forget
from pipeline.store.amendments import Completions, joined
from pipeline.store.files import link, sweep, write_json
from pipeline.store.journal import Entry, Journal
from pipeline.store.lock import locked
from pipeline.types import Record, Seed, Status, Stop

RunSeed = Callable[[Seed], Awaitable[Record]]
PAUSES = (2.0, 15.0, 60.0)
"""Seconds before a seed is tried again that the endpoint or the index failed; the model's own retries come first."""


class _Ended(NamedTuple):
    """A seed that has ended, by its index in the order of the plan."""

    number: int
    planned: Planned
    record: Record
    attempt: Attempt


class Run:
    """An open run: locked, checked, its journal read. A context manager; one per folder at a time."""

    def __init__(
        self,
        config: RunConfig,
        corpus: PassageSource,
        *,
        folder: Path | None = None,
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        """`lock` is entered in place of the folder's own."""
        self.config = config
        self.folder = folder or config.folder()
        self.pauses: tuple[float, ...] = PAUSES
        self.in_flight: dict[str, str] = {}
        """The place in the order of the plan of each seed that is being run, by its key."""
        self._at_work = config.seeds_at_work()
        self._corpus = corpus
        self._lock, self._stack = lock, ExitStack()
        self._begun = False

    def __enter__(self) -> Self:
        askable(self._corpus)
        with ExitStack() as stack:
            stack.enter_context(self._lock or locked(self.folder))
            sweep(self.folder)
            resume.begin(self.folder, self.config, self._corpus.fingerprint)
            self.journal = Journal(self.folder / "journal", run=resume.read(self.folder).identity)
            stack.callback(self.journal.close)
            self._notes = AttemptLog(self.folder)
            stack.callback(self._notes.close)
            link(self.folder.parent / "latest", self.folder.name)
            self._order = Order(self.config, self._corpus, self.journal.entries)
            self._joined = joined(self.folder)
            self._gating = Gating(self.config.gates, self.journal, self._joined)
            self._state = PlanState(self.config, self._gating.judge)
            ends = (entry.head.reason for entry in self.journal.entries.values())
            proven = not all(reason.startswith(("no_draft:", "no_verdict", Stop.NO_WALK)) for reason in ends)
            self._same = SameError[_Ended](self.config.how.same_error_seeds, proven=proven)
            next(self._owed(), None)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def kept(self) -> Iterator[Record]:
        """The records of the plan so far, in its order, one at a time in memory."""
        return (record for record, _ in judged(self.journal, self.config, joined=self._joined))

    def result(self) -> RunResult:
        """How the run stands now."""
        heads = list(prefix(self.journal.heads(), self.config, self._gating.preview()))
        reasons = [drop.reason if drop else head.reason for head, drop in heads if drop or head.status != "accepted"]
        counts = Counter(Status.REJECTED if drop else head.status for head, drop in heads)
        completed = Completions(self.folder)
        missing = [stage for head, drop in heads if not drop for stage in completed.missing(head.key, head.missing)]
        return RunResult(
            folder=self.folder,
            planned=len(heads),
            accepted=counts[Status.ACCEPTED],
            rejected=counts[Status.REJECTED],
            failed=counts[Status.FAILED],
            reasons=dict(Counter(reasons).most_common()),
            surplus=len(self.journal.entries) - len(heads),
            dropped=dict(self._order.dropped(self._state.length).most_common()),
            complete=self._state.complete,
            exhausted=self._state.exhausted,
            missing=dict(Counter(missing)),
            damaged=self.journal.damaged + self.journal.torn,
        )

    async def execute(self, run_seed: RunSeed, watch: RunCallbacks, *, at_work: int | None = None) -> RunResult:
        """Run seeds until the plan is complete, `at_work` at once; left out, as many as this process can.

        Raises Interrupted after a signal, and ProviderError, RetrievalError, BudgetExceeded or StoreError where one of
        them ended the work; whatever it raises, all that had finished is kept and `execute` goes on from there.
        """
        self.begin(watch)
        self._at_work = at_work or self._at_work
        await self._guarded(self._all(run_seed, watch))
        return self.result()

    @property
    def complete(self) -> bool:
        """Nothing is owed."""
        return self._state.complete

    def progress(self) -> float:
        """The part of the plan that is done, from 0 to 1. May be called from any thread."""
        wanted, most = bounds(self.config.how)
        return min(1.0, self._state.length / most if wanted is None else self._state.passed / wanted)

    def begin(self, watch: RunCallbacks) -> None:
        """Show what earlier commands did; once."""
        if not self._begun:
            self._begun = True
            watch.started(self)

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        """Do the work; what ends it early says what was kept and how to go on."""
        kept = f"finished seeds are kept in {self.folder}"
        way_on = f"{kept}; continue with: digsite resume {shlex.quote(str(self.folder))}"
        task = asyncio.create_task(work)
        try:
            with cancelling(task, f"stopped by force; {way_on}") as caught, suppress(asyncio.CancelledError):
                await task
            if caught.signal:
                raise Interrupted(f"interrupted: {len(self.journal.entries)} {way_on}", caught.signal)
            task.result()
        except (ProviderError, RetrievalError, WorkerError) as error:
            raise type(error)(f"{error}; {way_on}") from error
        except BudgetExceeded as error:
            raise BudgetExceeded(f"{error}; {kept}") from error
        finally:
            with suppress(StoreError):
                self.keep()

    def keep(self) -> None:
        """Write how the run stands to `result.json`."""
        write_json(self.folder / "result.json", self.result().model_dump(mode="json", exclude={"folder"}))

    def owed(self) -> int:
        """Seeds that the plan needs and that have no line, as far as what has ended shows; where there are too few
        pairs, those ahead of the last seed that has ended."""
        (wanted, _), most = bounds(self.config.how), self._state.most
        index, passed, lacking = self._state.length, self._state.passed, 0
        if self._state.complete:
            return 0
        if wanted is None:
            return sum(self._entry(self._order[n].seed.key) is None for n in range(most))
        ahead = sum(self._entry(key) is not None for key in self.journal.entries) - index
        while ahead and passed < wanted and index < most:
            entry = self._entry(self._order[index].seed.key)
            lacking += entry is None
            ahead -= entry is not None
            passed += entry is not None and entry.head.status is Status.ACCEPTED
            index += 1
        return lacking

    def _owed(self) -> Iterator[tuple[int, Planned]]:
        """Seeds without a line, in order, while the plan may need them: the answer changes as seeds end."""
        index = self._state.length
        while index < self._state.next_needed():
            planned = self._order[index]
            entry = self._entry(planned.seed.key)
            if entry is None:
                yield index, planned
            else:
                self._state.end(index, entry.head)
            index += 1

    def _entry(self, key: str) -> Entry | None:
        """The line of a seed, unless a shorter clock than this command's had ended it."""
        entry = self.journal.entries.get(key)
        return None if entry is None or entry.head.unfinished(self.config.how.rollout_seconds) else entry

    async def _all(self, run_seed: RunSeed, watch: RunCallbacks) -> None:
        """Again where the gates dropped what the plan had counted on."""
        while not self._state.complete:
            await self._work(self._owed(), run_seed, watch)

    async def _work(self, owed: Iterator[tuple[int, Planned]], run_seed: RunSeed, watch: RunCallbacks) -> None:
        running: dict[asyncio.Task[tuple[Record, Attempt]], tuple[int, Planned]] = {}
        spent: BaseException | None = None
        try:
            while True:
                most = (self._at_work, self._state.max_in_flight(), self._same.room or self._at_work)
                room = min(most) - len(running)
                for index, planned in islice(owed, max(0, room)):
                    self.in_flight[planned.seed.key] = planned.order
                    running[asyncio.create_task(self._attempted(planned.seed, run_seed, watch))] = index, planned
                if not running:
                    if spent:
                        raise spent
                    return
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                error = self._settle(done, running, watch)
                if isinstance(error, BudgetExceeded):
                    # The others go on to their own next paid call, so that what is in flight is not lost.
                    spent, owed = error, iter(())
                elif error:
                    raise error
                if self._state.complete:
                    for task in running:
                        task.cancel()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self._settle(set(running), running, watch)
            self._journal(self._same.let_go(), watch)
            for dropped in self._same.dropped():
                self._note(dropped.attempt, watch)
                forget(self.config, dropped.attempt.asked)

    def _settle(
        self,
        done: set[asyncio.Task[tuple[Record, Attempt]]],
        running: dict[asyncio.Task[tuple[Record, Attempt]], tuple[int, Planned]],
        watch: RunCallbacks,
    ) -> BaseException | None:
        """Journal all that ended well, in order; the first error of those that did not."""
        error: BaseException | None = None
        for task in sorted(done, key=lambda task: running[task][0]):
            index, planned = running.pop(task)
            del self.in_flight[planned.seed.key]
            if task.cancelled():
                continue
            if task.exception() is not None:
                error = error or task.exception()
                continue
            record, attempt = task.result()
            ended = _Ended(index, planned, record, attempt)
            self._journal(self._same.ended(attempt.error, ended, asked=record.reason != Stop.NO_WALK), watch)
            if self._same.cause:
                error = error or self._same.stop()
        return error

    def _journal(self, seeds: Iterable["_Ended"], watch: RunCallbacks) -> None:
        for number, planned, record, attempt in seeds:
            self.journal.append(record, planned.order, self.config.how.rollout_seconds)
            if record.status is Status.ACCEPTED:
                self._gating.check(record)
            drops = self._state.end(number, self.journal.entries[record.key].head)
            self._note(attempt, watch)
            watch.record(record)
            for head, drop in drops:
                watch.gated(head, drop)

    async def _attempted(self, seed: Seed, run_seed: RunSeed, watch: RunCallbacks) -> tuple[Record, Attempt]:
        """One seed to its record, with pauses where the outside fails."""
        pauses = iter(self.pauses)
        while True:
            attempt, end = await attempted(seed, run_seed)
            if isinstance(end, Record):
                return end, attempt
            self._note(attempt, watch)
            pause = self._pause(end, pauses)
            if pause is None or not isinstance(end, Exception):
                end.add_note(f"while running seed {seed.key}")
                raise end
            watch.trouble(seed, end, pause)
            await asyncio.sleep(pause)

    def _note(self, attempt: Attempt, watch: RunCallbacks) -> None:
        self._notes.add(attempt)
        watch.attempt(attempt)

    def _pause(self, error: BaseException, left: Iterator[float]) -> float | None:
        """Seconds until the seed is tried again; None where it is not."""
        again = "pause" if isinstance(error, RetrievalError | WorkerError) else "stop"
        then = error.then if isinstance(error, ProviderError) else again
        return None if then == "stop" else next(left, self.pauses[-1] if then == "requeue" and self.pauses else None)
