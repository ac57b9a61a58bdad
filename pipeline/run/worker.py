"""Seeds that are run in another process, on this or another machine: keys in, lines of the journal out.

A batch is a pure function: it plans and journals nothing, and where it runs twice nothing is lost or doubled. What is
costly to open (corpus, index, connections) stays open from one batch of a process to its next. All batches of a process
share one event loop, and so the limits of its endpoints.
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
from pipeline.run.attempts import Attempt, attempted
from pipeline.run.plan import Order, Planned
from pipeline.store.cache import BatchCache, Cache
from pipeline.store.files import checksum
from pipeline.store.journal import build_head, encode
from pipeline.store.scratch import Scratch
from pipeline.store.shipped_folders import folder
from pipeline.types import Data, Record, Seed, sha256

_opening = threading.Lock()
_scratch = cache(Scratch)


class Batch(Data):
    """Seeds to run, and what must be here as it is at whoever asks."""

    name: str
    config: RunConfig
    """With this worker's part of the limits, and of what is left of the budgets."""
    code: str
    """See `code`."""
    fingerprint: str
    """Of the corpus."""
    places: tuple[str, ...]
    """The seeds, by their places in the order of the plan."""
    answers: Path
    """The folder in which workers on other machines keep what they pay for; it is there where the disk is shared."""
    known: Path
    """The run's cache of answers."""
    machine: str
    """That of whoever asks; see `machine`."""


class Failure(Data):
    """Why a try at a seed gave no line."""

    kind: str
    """The name of the error."""
    line: str
    then: Literal["pause", "requeue", "stop"]


class BatchOutcome(Data):
    """What came of a batch, beside its lines."""

    worker: str
    attempts: tuple[Attempt, ...] = ()
    failures: dict[str, Failure] = Field(default_factory=dict)
    """By the key of the seed; under an empty key, why the worker ran nothing."""


class BatchResponse(NamedTuple):
    """The response to a batch as it travels: plain bytes, whose lines are those of the journal."""

    outcome: BatchOutcome
    lines: Sequence[bytes]
    cache: bytes
    """The file of answers, where the disk is not shared."""

    def packed(self) -> bytes:
        lines = b"\n".join([self.outcome.model_dump_json().encode(), *self.lines])
        return b"%d\n%b%b" % (len(lines), lines, self.cache)

    @classmethod
    def unpacked(cls, data: bytes) -> "BatchResponse":
        size, _, rest = data.partition(b"\n")
        head, *lines = rest[: int(size)].split(b"\n")
        return cls(BatchOutcome.model_validate_json(head), lines, rest[int(size) :])


class _Opened(NamedTuple):
    """What the batches of one configuration share."""

    context: RunContext
    order: Order
    clients: dict[str, LLM]
    room: asyncio.Semaphore
    """For the seeds of all batches together."""

    def connect(self, model: ModelConfig) -> LLM:
        """Return the one client of this model, whose settings hold dictionaries and so cannot be hashed."""
        key = model.model_dump_json()
        if key not in self.clients:
            self.clients[key] = prepare.connect(self.context.config, model)
        return self.clients[key]


def respond(request: bytes) -> bytes:
    """`run_seeds` in the form in which an engine carries it."""
    return run_seeds(Batch.model_validate_json(request)).packed()


def run_seeds(batch: Batch) -> BatchResponse:
    """Try each seed of the batch once. What goes wrong is in the response."""
    worker = f"{platform.node()}, process {os.getpid()}"
    try:
        return _ran(batch, worker)
    except DigsiteError as error:
        return BatchResponse(BatchOutcome(worker=worker, failures={"": _failure(error, worker)}), (), b"")


def _ran(batch: Batch, worker: str) -> BatchResponse:
    with _opening:
        opened, loop = _opened_for(batch), _loop()
        shared = batch.answers.is_dir()
        place = batch.answers if shared else _scratch().folder()
    path = place / f"{batch.name}-{secrets.token_hex(6)}.sqlite"
    with ExitStack() as stack:

        def cached() -> Cache:
            """That of the run, where it can be written to from here; else one of the batch's own."""
            here = shared and machine() == batch.machine
            left = () if here else tuple(place.glob(f"{batch.name}-*.sqlite"))
            kept = Cache(batch.known) if here else BatchCache(path, batch.known)
            stack.callback(kept.close)
            for other in left:  # of a worker that was killed with this very batch
                kept.take(other)
            return kept

        llm = prepare.model(batch.config, Spent(), cached, opened.connect)
        wanted: Callable[[], bool] = batch.answers.is_dir if shared else lambda: True
        work = _tried(batch.places, opened, replace(opened.context, llm=llm), wanted)
        tries = asyncio.run_coroutine_threadsafe(work, loop).result()
    failures = {p.seed.key: _failure(end, worker) for p, _, end in tries if isinstance(end, Exception)}
    outcome = BatchOutcome(worker=worker, attempts=tuple(attempt for _, attempt, _ in tries), failures=failures)
    lines = [encode(build_head(end, planned.order), end) for planned, _, end in tries if isinstance(end, Record)]
    return BatchResponse(outcome, lines, path.read_bytes() if not shared and path.exists() else b"")


async def _tried(
    places: Sequence[str], opened: _Opened, context: RunContext, wanted: Callable[[], bool]
) -> list[tuple[Planned, Attempt, Record | BaseException]]:
    """Each seed once, as many at a time as this process has room for."""

    async def wanted_seed(seed: Seed) -> Record:
        if not wanted():
            raise WorkerError("the command that started this worker has ended")
        return await run_seed(seed, context)

    async def one(planned: Planned) -> tuple[Planned, Attempt, Record | BaseException]:
        async with opened.room:
            return planned, *await attempted(planned.seed, wanted_seed)

    return await asyncio.gather(*(one(opened.order.at(place)) for place in places))


def _failure(error: Exception, worker: str) -> Failure:
    kind, known = type(error).__name__, isinstance(error, DigsiteError)
    line = f"{error if known else f'{kind}: {error}'} (worker {worker})"
    return Failure(kind=kind, line=line, then=getattr(error, "then", "stop"))


def _opened_for(batch: Batch) -> _Opened:
    """Raises UsageError, naming both sides, where this process has another code or corpus than whoever asks."""
    if batch.code != code():
        raise UsageError(f"a worker has digsite {code()}, this command {batch.code}: install the same on all machines")
    out = batch.config.how.out if batch.answers.is_dir() else _scratch_out()
    config = batch.config.with_how(out=out, budget_tokens=None, budget_money=None, budget_seconds=None)
    return _opened(config.model_dump_json(), batch.fingerprint)


@lru_cache(maxsize=1)
def _opened(settings: str, fingerprint: str) -> _Opened:
    config = RunConfig.model_validate_json(settings)
    corpus = prepare.corpus(config)
    if corpus.fingerprint != fingerprint:
        raise UsageError(
            f"a worker has another corpus '{config.corpus.name}' than this command: its texts have the fingerprint "
            f"{corpus.fingerprint[:12]}, not {fingerprint[:12]}; give all machines the same files"
        )
    context = prepare.context(config, corpus, llm=Routed({}))
    if context.config != config:
        engine, asked = context.config.retrieval.identity, config.retrieval.identity
        raise UsageError(f"a worker opened the retriever {engine}, this command {asked}: digsite doctor says why")
    room = asyncio.Semaphore(config.seeds_at_work())
    return _Opened(context, Order(config, corpus), {}, room)


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
    """A name that no other running machine has."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{platform.node()} {uuid.getnode()}"


@cache
def code() -> str:
    """The version of the package, with a digest of its files and prompts: a checkout changes without its version."""
    here, prompts = Path(__file__).parents[1], folder("prompts")
    paths = [*sorted(here.rglob("*.py")), *sorted(here.rglob("*.toml")), *sorted(prompts.rglob("*.md"))]
    digest = sha256("\n".join(f"{path.name} {checksum(path)}" for path in paths))
    return f"{version('digsite')}+{digest[:12]}"
