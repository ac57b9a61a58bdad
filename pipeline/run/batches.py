"""The coordinator's side of seeds that workers run: it makes batches of them, several in flight, and takes over what
comes back. Plan, journal and gates stay where they are: for `Run` this is one more way to run a seed.
"""

import asyncio
import math
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Self

from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig
from pipeline.errors import BudgetExceeded, DigsiteError, ProviderError, StoreError, WorkerError, first_line
from pipeline.llm.ledger import count_elsewhere
from pipeline.run import Run, prepare
from pipeline.run.attempts import Attempt
from pipeline.run.worker import Batch, BatchResponse, Failure, code, machine
from pipeline.store.files import atomic_write
from pipeline.store.journal import decode
from pipeline.store.worker_answers import answers_folder, take_batch
from pipeline.types import Record, Seed

ROUNDS = 2
"""Seeds of a batch for each that a worker has at work: a batch ends with its slowest seed, and what a worker has
finished is journalled when its batch ends."""
AHEAD = 2
"""Batches for each worker that is started here: it goes on with the next while one ends."""
Submit = Callable[[bytes], Awaitable[bytes]]
"""Has a worker call `worker.respond`. Raises WorkerError where the worker died."""


class _Pending(NamedTuple):
    seed: Seed
    place: str
    ended: asyncio.Future[tuple[Attempt, Record | Exception]]


class Batches:
    """Runs seeds through `submit`. An async context manager: nothing may be in flight when it closes."""

    def __init__(self, run: Run, fingerprint: str, submit: Submit) -> None:
        self._run, self._fingerprint, self._submit = run, fingerprint, submit
        self._most = run.config.how.workers * (1 if run.config.how.address else AHEAD)
        self._config = divided(run.config, run.config.how.workers)
        self._size = ROUNDS * self._config.seeds_at_work()
        self._shares = Shares(run.config)
        self._waiting: deque[_Pending] = deque()
        self._in_flight: set[asyncio.Task[None]] = set()

    @property
    def at_work(self) -> int:
        """Seeds that may be out at once."""
        return self._most * self._size

    async def __aenter__(self) -> Self:
        self._known = prepare.cache_path(self._run.config).resolve()
        self._answers = answers_folder(self._run.folder.resolve(), secrets.token_hex(6))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._in_flight:
            task.cancel()
        await asyncio.gather(*self._in_flight, return_exceptions=True)

    async def run_seed(self, seed: Seed) -> Record:
        """One seed to its record, by whichever worker. Raises what its try has raised there."""
        loop = asyncio.get_running_loop()
        while True:
            pending = _Pending(seed, self._run.in_flight[seed.key], loop.create_future())
            self._waiting.append(pending)
            loop.call_soon(self._send_waiting)
            made, end = await pending.ended
            asked = map(bytes.fromhex, made.asked)
            count_elsewhere(made.spent, datetime.fromisoformat(made.began), made.seconds, asked, made.error)
            if isinstance(end, Record):
                return end
            # A worker has used up its part. Once nothing is left for it, `_send_waiting` says so.
            if not isinstance(end, BudgetExceeded):
                raise end

    def _send_waiting(self) -> None:
        """Called once all that is wanted at this moment waits."""
        self._waiting = deque(one for one in self._waiting if not one.ended.done())
        while self._waiting and (free := self._most - len(self._in_flight)) > 0:
            try:
                part = self._shares.part(free)
            except BudgetExceeded as error:
                if not self._in_flight:
                    _fail(self._waiting, error)
                return
            size = min(self._size, math.ceil(len(self._waiting) / free))
            seeds = [self._waiting.popleft() for _ in range(size)]
            self._in_flight.add(task := asyncio.create_task(self._send(seeds, part)))
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._in_flight.discard(task)
        task.get_loop().call_soon(self._send_waiting)

    async def _send(self, seeds: Sequence[_Pending], part: dict[str, float]) -> None:
        batch = Batch(
            name=secrets.token_hex(8),
            config=self._config.with_how(**part),
            code=code(),
            fingerprint=self._fingerprint,
            places=tuple(one.place for one in seeds),
            answers=self._answers,
            known=self._known,
            machine=machine(),
        )
        made: Sequence[Attempt] = ()
        try:
            response = BatchResponse.unpacked(await self._submit(batch.model_dump_json().encode()))
            made = response.outcome.attempts
            self._settle(batch.name, seeds, response)
        except (ValueError, KeyError, StoreError) as error:
            # What cannot be read is the worker's trouble: its seeds go to another.
            _fail(seeds, WorkerError(f"a worker's answer cannot be read ({first_line(error)})"))
        except Exception as error:  # noqa: BLE001 - each seed raises it where it is awaited
            _fail(seeds, error)
        finally:
            self._shares.back(part, made)
            take_batch(self._answers, batch.name, self._known)

    def _settle(self, batch: str, seeds: Sequence[_Pending], response: BatchResponse) -> None:
        outcome, source = response.outcome, f"a line of the worker {response.outcome.worker}"
        if failed := outcome.failures.get(""):
            raise raised(failed)
        made = {one.key: one for one in outcome.attempts}
        records = {record.key: record for record in (decode(line, source) for line in response.lines)}
        for one in seeds:
            if not one.ended.done():
                record = records.get(one.seed.key)
                if record and record.seed != one.seed:
                    raise WorkerError(f"{source} is of another seed than it was sent")
                end = record or raised(outcome.failures[one.seed.key])
                one.ended.set_result((made[one.seed.key], end))
        if response.cache:
            atomic_write(self._answers / f"{batch}-returned.sqlite", response.cache)


class Shares:
    """Parts of what is left of a run's budgets, so that all workers together stay within them."""

    def __init__(self, config: RunConfig) -> None:
        self._budget = prepare.budget(config)
        self._lent = dict.fromkeys(self._budget.left(), 0.0)

    def part(self, of: int) -> dict[str, float]:
        """Lend an equal part of what is left, and all of the time. Raises BudgetExceeded where nothing is left."""
        self._budget.check()
        left = {name: amount - self._lent[name] for name, amount in self._budget.left().items()}
        if any(amount <= 0 for amount in left.values()):
            raise BudgetExceeded("all that is left of the budget is lent")
        part = {name: amount if name == "budget_seconds" else amount / of for name, amount in left.items()}
        if "budget_tokens" in part:
            part["budget_tokens"] = math.ceil(part["budget_tokens"])
        self._lend(part, 1)
        return part

    def back(self, part: dict[str, float], made: Sequence[Attempt]) -> None:
        """Take a part back, less what was spent of it."""
        self._lend(part, -1)
        for one in made:
            spent = one.spent.total
            self._budget.add(spent.paid, spent.money)

    def _lend(self, part: dict[str, float], sign: int) -> None:
        for name in self._lent.keys() - {"budget_seconds"}:
            self._lent[name] += sign * part[name]


def divided(config: RunConfig, workers: int) -> RunConfig:
    """The settings of one of so many workers, each of which takes its part of the limits of every endpoint."""

    def part(one: ModelConfig) -> ModelConfig:
        named = ("concurrency", "requests_per_minute", "tokens_per_minute")
        limits = {name: max(1, limit // workers) for name in named if (limit := getattr(one.limits, name)) is not None}
        return one.model_copy(update={"limits": one.limits.model_copy(update=limits)})

    models = config.models
    parts: dict[str, object] = {name: part(one) for name, one in models if isinstance(one, ModelConfig)}
    parts["policies"] = {name: part(one) for name, one in models.policies.items()}
    config = config.model_copy(update={"models": models.model_copy(update=parts)})
    together = config.how.concurrency and max(1, config.how.concurrency // workers)
    return config.with_how(concurrency=together, out=config.how.out.resolve())


def raised(failure: Failure) -> DigsiteError:
    """The error that a worker has met, as it is raised here. A full disk is the worker's own: another may go on."""
    if failure.kind == "ProviderError":
        return ProviderError(failure.line, then=failure.then)
    kinds = {kind.__name__: kind for kind in DigsiteError.__subclasses__()} | {"StoreError": WorkerError}
    return kinds.get(failure.kind, DigsiteError)(failure.line)


def _fail(seeds: Iterable[_Pending], error: Exception) -> None:
    for one in seeds:
        if not one.ended.done():
            one.ended.set_exception(error)
