"""Run seeds in another process, on this or another machine: keys go in, journal lines come out.

A batch is a pure function: it plans and journals nothing, and running it twice neither loses nor doubles anything. What
is costly to open (corpus, index, connections) stays open from one batch to the next. All batches of a process share one
event loop, and so the limits of its endpoints.
"""

import asyncio
import os
import platform
import secrets
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.errors import DigsiteError, UsageError, WorkerError
from pipeline.llm.base import LLM
from pipeline.llm.ledger import Spent
from pipeline.llm.routed import Routed
from pipeline.loop.episode import run_seed
from pipeline.run import prepare
from pipeline.run.attempts import Attempt, run_attempt
from pipeline.run.plan import Order, Planned
from pipeline.store.cache import BatchCache, Cache
from pipeline.store.files import checksum
from pipeline.store.journal import build_head, encode
from pipeline.store.scratch import Scratch
from pipeline.store.shipped_folders import folder
from pipeline.types import Data, Record, Seed, sha256
from pipeline.types.version import SeedPlace

_opening = threading.Lock()
_scratch = cache(Scratch)


class Batch(Data):
    """Seeds to run, and what must be the same here as on the machine that sends them."""

    name: str
    config: RunConfig
    """With this worker's part of the limits and of the remaining budgets."""
    code: str
    """See `code`."""
    fingerprint: str
    """The fingerprint of the corpus."""
    again: tuple[SeedPlace, ...] = ()
    """The seeds that the plan runs first; see `Order`."""
    places: tuple[str, ...]
    """The seeds, by their places in the order of the plan."""
    answers: Path
    """The folder in which workers on other machines keep paid answers. It exists here if the disk is shared."""
    known: Path
    """The run's cache of answers."""
    machine: str
    """The machine that sends the batch; see `machine`."""


class Failure(Data):
    """Why an attempt at a seed gave no line."""

    kind: str
    """The name of the error."""
    line: str
    then: Literal["pause", "requeue", "stop"]


class BatchOutcome(Data):
    """The outcome of a batch, apart from its lines."""

    worker: str
    attempts: tuple[Attempt, ...] = ()
    failures: dict[str, Failure] = Field(default_factory=dict)
    """Failures by the seed's key; an empty key says why the worker ran nothing."""


class BatchResponse(NamedTuple):
    """The response to a batch as it is sent: plain bytes, with lines as in the journal."""

    outcome: BatchOutcome
    lines: Sequence[bytes]
    cache: bytes
    """The file of answers, if the disk is not shared."""

    def pack(self) -> bytes:
        lines = b"\n".join([self.outcome.model_dump_json().encode(), *self.lines])
        return b"%d\n%b%b" % (len(lines), lines, self.cache)

    @classmethod
    def unpack(cls, data: bytes) -> "BatchResponse":
        size, _, remaining = data.partition(b"\n")
        head, *lines = remaining[: int(size)].split(b"\n")
        return cls(BatchOutcome.model_validate_json(head), lines, remaining[int(size) :])


class _Opened(NamedTuple):
    """What all batches of one configuration share."""

    context: RunContext
    order: Order
    clients: dict[str, LLM]
    room: asyncio.Semaphore
    """Limits the seeds of all batches together."""

    def connect(self, model: ModelConfig) -> LLM:
        """Return the one client of this model, whose settings hold dictionaries and so cannot be hashed."""
        key = model.model_dump_json()
        if key not in self.clients:
            self.clients[key] = prepare.connect(self.context.config, model)
        return self.clients[key]


def respond(request: bytes) -> bytes:
    return run_seeds(Batch.model_validate_json(request)).pack()


def run_seeds(batch: Batch) -> BatchResponse:
    """Run each seed of the batch once. Errors are part of the response."""
    worker = f"{platform.node()}, process {os.getpid()}"
    try:
        return _run_batch(batch, worker)
    except DigsiteError as error:
        return BatchResponse(BatchOutcome(worker=worker, failures={"": _describe_failure(error, worker)}), (), b"")


def _run_batch(batch: Batch, worker: str) -> BatchResponse:
    with _opening:
        opened, loop = _open_for(batch), _loop()
        is_disk_shared = batch.answers.is_dir()
        cache_folder = batch.answers if is_disk_shared else _scratch().folder()
    path = cache_folder / f"{batch.name}-{secrets.token_hex(6)}.sqlite"
    with ExitStack() as stack:

        def open_cache() -> Cache:
            # SQLite in WAL mode needs all writers on one machine, so a worker elsewhere has a file for each batch.
            is_same_machine = is_disk_shared and machine() == batch.machine
            leftovers = () if is_same_machine else tuple(cache_folder.glob(f"{batch.name}-*.sqlite"))
            answers = Cache(batch.known) if is_same_machine else BatchCache(path, batch.known)
            stack.callback(answers.close)
            for leftover in leftovers:  # of workers killed while they ran this batch
                answers.take(leftover)
            return answers

        llm = prepare.model(batch.config, Spent(), open_cache, opened.connect)
        is_wanted: Callable[[], bool] = batch.answers.is_dir if is_disk_shared else lambda: True
        work = _run_each(batch.places, opened, replace(opened.context, llm=llm), is_wanted)
        outcomes = asyncio.run_coroutine_threadsafe(work, loop).result()
    failures = {
        planned.seed.key: _describe_failure(end, worker) for planned, _, end in outcomes if isinstance(end, Exception)
    }
    outcome = BatchOutcome(worker=worker, attempts=tuple(attempt for _, attempt, _ in outcomes), failures=failures)
    lines = [encode(build_head(end, planned.order), end) for planned, _, end in outcomes if isinstance(end, Record)]
    return BatchResponse(outcome, lines, path.read_bytes() if not is_disk_shared and path.exists() else b"")


async def _run_each(
    places: Sequence[str], opened: _Opened, context: RunContext, is_wanted: Callable[[], bool]
) -> list[tuple[Planned, Attempt, Record | BaseException]]:
    async def run_unless_abandoned(seed: Seed) -> Record:
        if not is_wanted():
            raise WorkerError(
                "the command that started this worker has ended, so the seed was not begun; the next command runs it"
            )
        return await run_seed(seed, context)

    async def run_planned(planned: Planned) -> tuple[Planned, Attempt, Record | BaseException]:
        async with opened.room:
            return planned, *await run_attempt(planned.seed, run_unless_abandoned)

    return await asyncio.gather(*(run_planned(opened.order.at(place)) for place in places))


def _describe_failure(error: Exception, worker: str) -> Failure:
    kind, is_known = type(error).__name__, isinstance(error, DigsiteError)
    line = f"{error if is_known else f'{kind}: {error}'} (worker {worker})"
    return Failure(kind=kind, line=line, then=getattr(error, "then", "stop"))


def _open_for(batch: Batch) -> _Opened:
    """Open what the batch needs. Raises UsageError, naming both, if code or corpus differ from the sender's."""
    if batch.code != code():
        raise UsageError(
            f"a worker has digsite {code()}, this command {batch.code}: install the same version on all machines"
        )
    out = batch.config.runtime.out if batch.answers.is_dir() else _scratch_out()
    config = batch.config.with_runtime(out=out, budget_tokens=None, budget_money=None, budget_seconds=None)
    return _open(config.model_dump_json(), batch.fingerprint, batch.again)


@lru_cache(maxsize=1)
def _open(settings: str, fingerprint: str, again: tuple[SeedPlace, ...]) -> _Opened:
    config = RunConfig.model_validate_json(settings)
    corpus = prepare.corpus(config)
    if corpus.fingerprint != fingerprint:
        raise UsageError(
            f"a worker has another corpus '{config.corpus.name}' than this command: its texts have the fingerprint "
            f"{corpus.fingerprint[:12]}, not {fingerprint[:12]}; give all machines the same files"
        )
    context = prepare.context(config, corpus, llm=Routed({}))
    if context.config != config:
        engine, requested = context.config.retrieval.identity, config.retrieval.identity
        raise UsageError(f"a worker opened the retriever {engine}, not {requested}; digsite doctor says why")
    room = asyncio.Semaphore(config.seeds_at_work())
    return _Opened(context, Order(config, corpus, again=again), {}, room)


@cache
def _scratch_out() -> Path:
    return _scratch().folder()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="seeds", daemon=True).start()
    return loop


@cache
def machine() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{platform.node()} {uuid.getnode()}"


@cache
def code() -> str:
    """Return the package's version with a digest of its files and prompts: a checkout can change within a version."""
    here, prompts = Path(__file__).parents[1], folder("prompts")
    paths = [*sorted(here.rglob("*.py")), *sorted(here.rglob("*.toml")), *sorted(prompts.rglob("*.md"))]
    digest = sha256("\n".join(f"{path.name} {checksum(path)}" for path in paths))
    return f"{version('digsite')}+{digest[:12]}"
