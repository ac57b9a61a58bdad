"""The execution of a run: it runs the owed seeds, several at a time, and journals each as it ends.

Seeds start in the order of the plan, and none starts that the plan can no longer need. After an outside failure a seed
is run again following a pause, and in the end the run stops. Such a seed stays owed and is never dropped.
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
from pipeline.run import resume, versions
from pipeline.run.attempts import Attempt, AttemptLog, run_attempt
from pipeline.run.callbacks import RunCallbacks
from pipeline.run.gating import Gating
from pipeline.run.interrupt import cancelling
from pipeline.run.plan import Order, PassageSource, Planned, PlanState, bounds, check_askable, judge_records, prefix
from pipeline.run.repeated_error import SameError, forget
from pipeline.run.result import RunResult
from pipeline.store.amendments import Completions, build_join
from pipeline.store.cache import NAME as CACHE
from pipeline.store.files import link, sweep, write_json
from pipeline.store.journal import Entry, Journal
from pipeline.store.lock import hold_lock
from pipeline.store.real_paths import refuse_links
from pipeline.types import ReasonCode, Record, Seed, Status
from pipeline.types.version import SeedPlace

RunSeed = Callable[[Seed], Awaitable[Record]]
PAUSES = (2.0, 15.0, 60.0)
"""Seconds to wait before a seed runs again after endpoint or index failed. The model's own retries come first."""


class _Ended(NamedTuple):
    """A seed that has ended, with its index in the order of the plan."""

    plan_index: int
    planned: Planned
    record: Record
    attempt: Attempt


class Run:
    """An open run: locked, checked, its journal read. A context manager, used once per folder at a time."""

    def __init__(
        self,
        config: RunConfig,
        corpus: PassageSource,
        *,
        folder: Path | None = None,
        locks: bool = True,
        by_hand: bool = True,
    ) -> None:
        """Prepare to open the run.

        Args:
            config: its settings.
            corpus: the corpus of its seeds.
            folder: its folder, if that is not the one of the settings.
            locks: whether to lock the folder; otherwise the caller has done so.
            by_hand: whether a person started it, so that `latest` follows.
        """
        self.config = config
        self.folder = folder or config.folder()
        self.pauses: tuple[float, ...] = PAUSES
        self.in_flight: dict[str, str] = {}
        """The place in the plan of each seed that is running, by key."""
        self._at_work = config.seeds_at_work()
        self._running: dict[asyncio.Task[_Ended], int] = {}
        self._corpus = corpus
        self._locks, self._by_hand, self._stack = locks, by_hand, ExitStack()
        self._begun = False

    def __enter__(self) -> Self:
        check_askable(self._corpus)
        with ExitStack() as stack:
            if self._locks:
                stack.enter_context(hold_lock(self.folder))
            # Check this before any call is paid for.
            for path in ("journal/main.jsonl", "attempts.jsonl", "dataset"):
                refuse_links(self.folder / path)
            sweep(self.folder)
            resume.begin(self.folder, self.config, self._corpus.fingerprint)
            self.journal = Journal(self.folder / "journal", run=versions.read_identity(self.folder))
            stack.callback(self.journal.close)
            self._attempt_log = AttemptLog(self.folder)
            stack.callback(self._attempt_log.close)
            for name in self._names():
                link(self.folder.parent / name, self.folder.name)
            self._carried, self._order = self._read_plan()
            self._joined = build_join(self.folder)
            self._gating = Gating(self.config.gates, self.journal, self._joined)
            self._state = PlanState(self.config, self._gating.judge)
            reasons = (entry.head.parsed_reason for entry in self.journal.entries.values())
            is_proven = not all(reason.is_inconclusive for reason in reasons)
            self._same_error = SameError[_Ended](self.config.runtime.same_error_seeds, proven=is_proven)
            next(self._owed_seeds(), None)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _names(self) -> Iterator[str]:
        """Yield the names of the links that mean this run from now on."""
        if self._by_hand:
            yield "latest"
        if self.config.runtime.name and versions.find_newest(self.folder) == self.folder:
            yield self.config.runtime.name

    def _read_plan(self) -> tuple[list[Entry], Order]:
        """Return the lines that were carried over, which come first in the plan, and the seeds after them."""
        entries, version = self.journal.entries, versions.read_version(self.folder)
        if version is None:
            return [], Order(self.config, self._corpus, entries)
        order = Order(self.config, self._corpus, entries, again=version.again, tried=version.tried)
        return [entries[key] for key in version.carried if key in entries], order

    @property
    def again(self) -> tuple[SeedPlace, ...]:
        """Return the seeds of stale pairs, which run first."""
        return self._order.again

    def records(self) -> Iterator[Record]:
        """Yield the records of the plan so far, in its order, one at a time in memory."""
        return (record for record, _ in judge_records(self.journal, self.config, joined=self._joined))

    def result(self) -> RunResult:
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
            dropped=dict(self._order.count_dropped(self._state.length - len(self._carried)).most_common()),
            complete=self._state.complete,
            exhausted=self._state.exhausted,
            missing=dict(Counter(missing)),
            damaged=self.journal.damaged + self.journal.torn,
        )

    async def execute(self, run_seed: RunSeed, watch: RunCallbacks, *, at_work: int | None = None) -> RunResult:
        """Run seeds until the plan is complete, `at_work` at once, or by default as many as this process can.

        Raises Interrupted after a signal, and ProviderError, RetrievalError, BudgetExceeded or StoreError if one of
        them ended the work. Finished seeds are always kept, and `execute` continues from there.
        """
        self.begin(watch)
        self._at_work = at_work or self._at_work
        kept_note = f"finished seeds are kept in {self.folder}"
        resume_note = f"{kept_note}; continue with: digsite resume {shlex.quote(str(self.folder))}"
        task = asyncio.create_task(self._run_all(run_seed))
        try:
            with cancelling(task) as caught, suppress(asyncio.CancelledError):
                await task
            if caught.signal:
                raise Interrupted(f"interrupted: {len(self.journal.entries)} {resume_note}", caught.signal)
            task.result()
        except (ProviderError, RetrievalError, WorkerError) as error:
            raise type(error)(f"{error}; {resume_note}") from error
        except BudgetExceeded as error:
            raise BudgetExceeded(f"{error}; {kept_note}") from error
        finally:
            with suppress(StoreError):
                self.keep()
        return self.result()

    @property
    def complete(self) -> bool:
        return self._state.complete

    def progress(self) -> float:
        """Return the part of the plan that is done, from 0 to 1. Any thread may call this."""
        wanted_pairs, max_seeds = bounds(self.config.runtime)
        done, needed = (self._state.length, max_seeds) if wanted_pairs is None else (self._state.passed, wanted_pairs)
        return min(1.0, done / needed)

    def begin(self, watch: RunCallbacks) -> None:
        has_begun, self._begun, self._watch = self._begun, True, watch
        if not has_begun:
            watch.started(self)

    def keep(self) -> None:
        write_json(self.folder / "result.json", self.result().model_dump(mode="json", exclude={"folder"}))

    def _owed_seeds(self) -> Iterator[tuple[int, Planned]]:
        """Yield seeds without a journal line, in order, while the plan may need them.

        Which seeds the plan needs changes as seeds end.
        """
        index = self._state.length
        while index < self._state.next_needed():
            if index < len(self._carried):
                self._state.end(index, self._carried[index].head)
                index += 1
                continue
            planned = self._order[index - len(self._carried)]
            entry = self._valid_entry(planned.seed.key)
            if entry is None:
                yield index, planned
            else:
                self._state.end(index, entry.head)
            index += 1

    def _valid_entry(self, key: str) -> Entry | None:
        """Return the line of a seed, unless a shorter time limit than this command's ended it."""
        entry = self.journal.entries.get(key)
        return None if entry is None or entry.head.unfinished(self.config.runtime.rollout_seconds) else entry

    async def _run_all(self, run_seed: RunSeed) -> None:
        # Work again if the gates dropped pairs that the plan had counted on.
        while not self._state.complete:
            await self._run_owed(self._owed_seeds(), run_seed)

    async def _run_owed(self, owed: Iterator[tuple[int, Planned]], run_seed: RunSeed) -> None:
        exhaustion: BaseException | None = None
        try:
            while True:
                limits = (self._at_work, self._state.max_in_flight(), self._same_error.room or self._at_work)
                room = min(limits) - len(self._running)
                for index, planned in islice(owed, max(0, room)):
                    self._running[asyncio.create_task(self._run_until_recorded(index, planned, run_seed))] = index
                if not self._running:
                    if exhaustion:
                        raise exhaustion
                    return
                finished, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                error = self._settle(finished)
                if isinstance(error, BudgetExceeded):
                    # Let the other seeds go on to their next paid call, so that work in flight is not lost.
                    exhaustion, owed = error, iter(())
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
            self._journal_seeds(self._same_error.let_go())
            for ended in self._same_error.take_dropped():
                self._log_attempt(ended.attempt)
                forget(self.config.runtime.out / CACHE, ended.attempt.asked)

    def _settle(self, finished: set[asyncio.Task[_Ended]]) -> BaseException | None:
        """Journal all seeds that ended well, in order. Return the first error of the others."""
        error: BaseException | None = None
        for task in sorted(finished, key=self._running.__getitem__):
            del self._running[task]
            if task.cancelled():
                continue
            if failure := task.exception():
                error = error or failure
                continue
            ended = task.result()
            refused = ended.record.reason == ReasonCode.REFUSED
            self._journal_seeds(self._same_error.add(ended.attempt.error, ended, refused=refused))
            if self._same_error.cause:
                error = error or self._same_error.stop()
        return error

    def _journal_seeds(self, seeds: Iterable[_Ended]) -> None:
        for index, planned, record, attempt in seeds:
            self.journal.append(record, planned.order, self.config.runtime.rollout_seconds)
            if record.status is Status.ACCEPTED:
                self._gating.check(record)
            drops = self._state.end(index, self.journal.entries[record.key].head)
            self._log_attempt(attempt)
            self._watch.record(record)
            for head, drop in drops:
                self._watch.gated(head, drop)

    async def _run_until_recorded(self, index: int, planned: Planned, run_seed: RunSeed) -> _Ended:
        seed, pauses = planned.seed, iter(self.pauses)
        self.in_flight[seed.key] = planned.order
        try:
            while True:
                attempt, outcome = await run_attempt(seed, run_seed)
                if isinstance(outcome, Record):
                    return _Ended(index, planned, outcome, attempt)
                self._log_attempt(attempt)
                then = getattr(outcome, "then", "stop")
                pause = None if then == "stop" else next(pauses, self.pauses[-1] if then == "requeue" else None)
                if pause is None or not isinstance(outcome, Exception):
                    outcome.add_note(f"while running seed {seed.key}")
                    raise outcome
                self._watch.trouble(seed, outcome, pause)
                await asyncio.sleep(pause)
        finally:
            del self.in_flight[seed.key]

    def _log_attempt(self, attempt: Attempt) -> None:
        self._attempt_log.add(attempt)
        self._watch.attempt(attempt)
