"""The coordinator's side of seeds that workers run: it sends batches, several at a time, and takes in the results.

Plan, journal and gates stay here: to `Run` this is one more way to run a seed.
"""

import asyncio
import math
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
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
"""Seeds in a batch for each seed that a worker runs at once. A batch ends with its slowest seed, and its finished seeds
are journalled only then."""
AHEAD = 2
"""Batches in flight for each local worker: it goes on with the next one while the last seeds of a batch end."""
Submit = Callable[[bytes], Awaitable[bytes]]
"""Makes a worker call `worker.respond`. Raises WorkerError if the worker died."""


class _Pending(NamedTuple):
    seed: Seed
    place: str
    ended: asyncio.Future[tuple[Attempt, Record | Exception]]


class Batches:
    """Runs seeds through `submit`. An async context manager: no batch may be in flight when it closes."""

    def __init__(self, run: Run, fingerprint: str, submit: Submit) -> None:
        self._run, self._fingerprint, self._submit = run, fingerprint, submit
        self._max_in_flight = run.config.runtime.workers * (1 if run.config.runtime.address else AHEAD)
        self._config = divide_limits(run.config, run.config.runtime.workers)
        self._size = ROUNDS * self._config.seeds_at_work()
        self._shares = Shares(run.config, run.folder)
        self._waiting: deque[_Pending] = deque()
        self._in_flight: set[asyncio.Task[None]] = set()

    @property
    def at_work(self) -> int:
        return self._max_in_flight * self._size

    async def __aenter__(self) -> Self:
        self._cache_path = prepare.cache_path(self._run.config).resolve()
        self._answers = answers_folder(self._run.folder.resolve(), secrets.token_hex(6))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._in_flight:
            task.cancel()
        await asyncio.gather(*self._in_flight, return_exceptions=True)

    async def run_seed(self, seed: Seed) -> Record:
        """Run one seed on any worker. Raises the error that its attempt raised there."""
        loop = asyncio.get_running_loop()
        while True:
            pending = _Pending(seed, self._run.in_flight[seed.key], loop.create_future())
            self._waiting.append(pending)
            loop.call_soon(self._send_waiting)
            attempt, outcome = await pending.ended
            digests = map(bytes.fromhex, attempt.asked)
            count_elsewhere(
                attempt.spent, datetime.fromisoformat(attempt.began), attempt.seconds, digests, attempt.error
            )
            if isinstance(outcome, Record):
                return outcome
            # The worker used up its share of the budget; `_send_waiting` raises once nothing is left to lend.
            if not isinstance(outcome, BudgetExceeded):
                raise outcome

    def _send_waiting(self) -> None:
        self._waiting = deque(pending for pending in self._waiting if not pending.ended.done())
        while self._waiting and (free_slots := self._max_in_flight - len(self._in_flight)) > 0:
            try:
                share = self._shares.lend(free_slots)
            except BudgetExceeded as error:
                if not self._in_flight:
                    _fail_all(self._waiting, error)
                return
            batch_size = min(self._size, math.ceil(len(self._waiting) / free_slots))
            seeds = [self._waiting.popleft() for _ in range(batch_size)]
            self._in_flight.add(task := asyncio.create_task(self._send(seeds, share)))
            task.add_done_callback(self._send_next)

    def _send_next(self, task: asyncio.Task[None]) -> None:
        self._in_flight.discard(task)
        task.get_loop().call_soon(self._send_waiting)

    async def _send(self, seeds: Sequence[_Pending], share: dict[str, float]) -> None:
        batch = Batch(
            name=secrets.token_hex(8),
            config=self._config.with_runtime(**share),
            code=code(),
            fingerprint=self._fingerprint,
            again=self._run.again,
            places=tuple(pending.place for pending in seeds),
            answers=self._answers,
            known=self._cache_path,
            machine=machine(),
        )
        attempts: Sequence[Attempt] = ()
        try:
            response = BatchResponse.unpack(await self._submit(batch.model_dump_json().encode()))
            attempts = response.outcome.attempts
            self._settle(batch.name, seeds, response)
        except (ValueError, KeyError, StoreError) as error:
            # An unreadable answer is the worker's fault, so its seeds go to another worker.
            _fail_all(seeds, WorkerError(f"a worker's answer cannot be read ({first_line(error)})"))
        except Exception as error:  # noqa: BLE001 - each seed raises it where it is awaited
            _fail_all(seeds, error)
        finally:
            self._shares.take_back(share, attempts)
            take_batch(self._answers, batch.name, self._cache_path)

    def _settle(self, batch: str, seeds: Sequence[_Pending], response: BatchResponse) -> None:
        outcome, source = response.outcome, f"a line of the worker {response.outcome.worker}"
        if failure := outcome.failures.get(""):
            raise rebuild_error(failure)
        attempts = {pending.key: pending for pending in outcome.attempts}
        records = {record.key: record for record in (decode(line, source) for line in response.lines)}
        for pending in seeds:
            if not pending.ended.done():
                record = records.get(pending.seed.key)
                if record and record.seed != pending.seed:
                    raise WorkerError(f"{source} is of another seed than it was sent")
                outcome_of_seed = record or rebuild_error(outcome.failures[pending.seed.key])
                pending.ended.set_result((attempts[pending.seed.key], outcome_of_seed))
        if response.cache:
            atomic_write(self._answers / f"{batch}-returned.sqlite", response.cache)


class Shares:
    """Parts of the remaining budgets, so that all workers together stay within them."""

    def __init__(self, config: RunConfig, folder: Path) -> None:
        self._budget = prepare.budget(config, folder=folder)
        self._lent = dict.fromkeys(self._budget.remaining(), 0.0)

    def lend(self, parts: int) -> dict[str, float]:
        """Lend an equal part of the remaining budget, and all of the time. Raises BudgetExceeded if nothing is left."""
        self._budget.check()
        remaining = {name: amount - self._lent[name] for name, amount in self._budget.remaining().items()}
        if any(amount <= 0 for amount in remaining.values()):
            raise BudgetExceeded("all that is left of the budget is lent")
        part = {name: amount if name == "budget_seconds" else amount / parts for name, amount in remaining.items()}
        if "budget_tokens" in part:
            part["budget_tokens"] = math.ceil(part["budget_tokens"])
        self._lend(part, 1)
        return part

    def take_back(self, part: dict[str, float], attempts: Sequence[Attempt]) -> None:
        self._lend(part, -1)
        for attempt in attempts:
            cost = attempt.spent.total
            self._budget.add(cost.paid, cost.money)

    def _lend(self, part: dict[str, float], sign: int) -> None:
        for name in self._lent.keys() - {"budget_seconds"}:
            self._lent[name] += sign * part[name]


def divide_limits(config: RunConfig, workers: int) -> RunConfig:
    def divide(model: ModelConfig) -> ModelConfig:
        names = ("concurrency", "requests_per_minute", "tokens_per_minute")
        limits = {
            name: max(1, limit // workers) for name in names if (limit := getattr(model.limits, name)) is not None
        }
        return model.model_copy(update={"limits": model.limits.model_copy(update=limits)})

    models = config.models
    parts: dict[str, object] = {name: divide(model) for name, model in models if isinstance(model, ModelConfig)}
    parts["policies"] = {name: divide(policy) for name, policy in models.policies.items()}
    config = config.model_copy(update={"models": models.model_copy(update=parts)})
    concurrency = config.runtime.concurrency and max(1, config.runtime.concurrency // workers)
    return config.with_runtime(concurrency=concurrency, out=config.runtime.out.resolve())


def rebuild_error(failure: Failure) -> DigsiteError:
    """Return the worker's error for raising it here. A full disk is the worker's own: another may go on."""
    if failure.kind == "ProviderError":
        return ProviderError(failure.line, then=failure.then)
    kinds = {kind.__name__: kind for kind in DigsiteError.__subclasses__()} | {"StoreError": WorkerError}
    return kinds.get(failure.kind, DigsiteError)(failure.line)


def _fail_all(seeds: Iterable[_Pending], error: Exception) -> None:
    for pending in seeds:
        if not pending.ended.done():
            pending.ended.set_exception(error)
