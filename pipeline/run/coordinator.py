"""The execution of a run: which seeds are owed, run so many at a time, each journalled as it ends.

Seeds start in the order of the plan, and none starts that the plan can no longer need. What the outside broke is tried
again after a pause and then stops the run: such a seed stays owed and is never dropped.
"""

import asyncio
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

from pipeline.config import RunConfig
from pipeline.errors import BudgetExceeded, Interrupted, ProviderError, RetrievalError, StoreError, WorkerError
from pipeline.run import resume
from pipeline.run.attempts import REFUSED, Attempt, AttemptLog, attempted
from pipeline.run.callbacks import RunCallbacks
from pipeline.run.gating import Gating
from pipeline.run.interrupt import cancelling
from pipeline.run.plan import Order, PassageSource, Planned, PlanState, askable, bounds, judged, prefix
from pipeline.run.repeated_error import SameError, forget
from pipeline.run.result import RunResult
from pipeline.store.amendments import Completions, build_join
from pipeline.store.cache import NAME as CACHE
from pipeline.store.files import link, sweep, write_json
from pipeline.store.journal import Entry, Journal
from pipeline.store.lock import hold_lock
from pipeline.store.real_paths import refuse_links
from pipeline.types import Record, Seed, Status

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
        self, config: RunConfig, corpus: PassageSource, *, folder: Path | None = None, locks: bool = True
    ) -> None:
        """Unless it `locks` the folder, the caller has done so."""
        self.config = config
        self.folder = folder or config.folder()
        self.pauses: tuple[float, ...] = PAUSES
        self.in_flight: dict[str, str] = {}
        """The place in the order of the plan of each seed that is being run, by its key."""
        self._at_work = config.seeds_at_work()
        self._running: dict[asyncio.Task[_Ended], int] = {}
        self._corpus = corpus
        self._locks, self._stack = locks, ExitStack()
        self._begun = False

    def __enter__(self) -> Self:
        askable(self._corpus)
        with ExitStack() as stack:
            if self._locks:
                stack.enter_context(hold_lock(self.folder))
            # Before any call is paid for.
            for place in ("journal/main.jsonl", "attempts.jsonl", "dataset"):
                refuse_links(self.folder / place)
            sweep(self.folder)
            resume.begin(self.folder, self.config, self._corpus.fingerprint)
            self.journal = Journal(self.folder / "journal", run=resume.read(self.folder).identity)
            stack.callback(self.journal.close)
            self._notes = AttemptLog(self.folder)
            stack.callback(self._notes.close)
            link(self.folder.parent / "latest", self.folder.name)
            self._order = Order(self.config, self._corpus, self.journal.entries)
            self._joined = build_join(self.folder)
            self._gating = Gating(self.config.gates, self.journal, self._joined)
            self._state = PlanState(self.config, self._gating.judge)
            ends = (entry.head.reason for entry in self.journal.entries.values())
            unproven = ("no_draft:", "no_verdict", REFUSED)
            proven = not all(reason.startswith(unproven) for reason in ends)
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
        kept = f"finished seeds are kept in {self.folder}"
        way_on = f"{kept}; continue with: digsite resume {shlex.quote(str(self.folder))}"
        task = asyncio.create_task(self._all(run_seed))
        try:
            with cancelling(task) as caught, suppress(asyncio.CancelledError):
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
        return self.result()

    @property
    def complete(self) -> bool:
        """Nothing is owed."""
        return self._state.complete

    def progress(self) -> float:
        """The part of the plan that is done, from 0 to 1. May be called from any thread."""
        wanted, most = bounds(self.config.how)
        done, whole = (self._state.length, most) if wanted is None else (self._state.passed, wanted)
        return min(1.0, done / whole)

    def begin(self, watch: RunCallbacks) -> None:
        """Show what earlier commands did; once."""
        begun, self._begun, self._watch = self._begun, True, watch
        if not begun:
            watch.started(self)

    def keep(self) -> None:
        """Write how the run stands to `result.json`."""
        write_json(self.folder / "result.json", self.result().model_dump(mode="json", exclude={"folder"}))

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

    async def _all(self, run_seed: RunSeed) -> None:
        """Again where the gates dropped what the plan had counted on."""
        while not self._state.complete:
            await self._work(self._owed(), run_seed)

    async def _work(self, owed: Iterator[tuple[int, Planned]], run_seed: RunSeed) -> None:
        spent: BaseException | None = None
        try:
            while True:
                most = (self._at_work, self._state.max_in_flight(), self._same.room or self._at_work)
                room = min(most) - len(self._running)
                for index, planned in islice(owed, max(0, room)):
                    self._running[asyncio.create_task(self._attempted(index, planned, run_seed))] = index
                if not self._running:
                    if spent:
                        raise spent
                    return
                done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                error = self._settle(done)
                if isinstance(error, BudgetExceeded):
                    # The others go on to their own next paid call, so that what is in flight is not lost.
                    spent, owed = error, iter(())
                elif error:
                    raise error
                if self._state.complete:
                    for task in self._running:
                        task.cancel()
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
            self._settle(set(self._running))
            self._journal(self._same.let_go())
            for dropped in self._same.dropped():
                self._note(dropped.attempt)
                forget(self.config.how.out / CACHE, dropped.attempt.asked)

    def _settle(self, done: set[asyncio.Task[_Ended]]) -> BaseException | None:
        """Journal all that ended well, in order; the first error of those that did not."""
        error: BaseException | None = None
        for task in sorted(done, key=self._running.__getitem__):
            del self._running[task]
            if task.cancelled():
                continue
            if failure := task.exception():
                error = error or failure
                continue
            ended = task.result()
            refused = ended.record.reason == REFUSED
            self._journal(self._same.ended(ended.attempt.error, ended, refused=refused))
            if self._same.cause:
                error = error or self._same.stop()
        return error

    def _journal(self, seeds: Iterable[_Ended]) -> None:
        for number, planned, record, attempt in seeds:
            self.journal.append(record, planned.order, self.config.how.rollout_seconds)
            if record.status is Status.ACCEPTED:
                self._gating.check(record)
            drops = self._state.end(number, self.journal.entries[record.key].head)
            self._note(attempt)
            self._watch.record(record)
            for head, drop in drops:
                self._watch.gated(head, drop)

    async def _attempted(self, number: int, planned: Planned, run_seed: RunSeed) -> _Ended:
        """One seed to its record, with pauses where the outside fails."""
        seed, pauses = planned.seed, iter(self.pauses)
        self.in_flight[seed.key] = planned.order
        try:
            while True:
                attempt, end = await attempted(seed, run_seed)
                if isinstance(end, Record):
                    return _Ended(number, planned, end, attempt)
                self._note(attempt)
                then = getattr(end, "then", "stop")
                pause = None if then == "stop" else next(pauses, self.pauses[-1] if then == "requeue" else None)
                if pause is None or not isinstance(end, Exception):
                    end.add_note(f"while running seed {seed.key}")
                    raise end
                self._watch.trouble(seed, end, pause)
                await asyncio.sleep(pause)
        finally:
            del self.in_flight[seed.key]

    def _note(self, attempt: Attempt) -> None:
        self._notes.add(attempt)
        self._watch.attempt(attempt)
