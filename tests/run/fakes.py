"""A fake corpus, `run_seed` and callbacks, for runs of milliseconds.

A hash of its passage and draw decides how a seed ends, never chance or time, unless a test says so.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.config import RunConfig, build
from pipeline.gates import Drop
from pipeline.run import Attempt, LogCallbacks, Run, RunView
from pipeline.store.journal import Head
from pipeline.types import Lineage, Passage, Record, Seed, Status, sha256

LINEAGE = Lineage(
    run="r", preset="default", strategy="sage", model="fake", demo_solver=None, corpus="tiny", corpus_fingerprint="f",
    licence="CC0-1.0", attribution="", retriever="none",
)  # fmt: skip
FACT = "The old bridge at Łódź was built in 1874 by Ada Brannick, who had come from Kirkholm with her brother, "


@dataclass(frozen=True)
class FakeCorpus:
    passages: tuple[Passage, ...]
    fingerprint: str = "f" * 64
    language: str = "en"

    @cached_property
    def _by_id(self) -> list[Passage]:
        return sorted(self.passages, key=lambda passage: passage.id)

    def passage(self, passage_id: str) -> Passage | None:
        return next((passage for passage in self.passages if passage.id == passage_id), None)

    def in_order_of_ids(self, index: int) -> Passage:
        return self._by_id[index]


def passage(number: int, text: str = FACT * 3) -> Passage:
    return Passage(
        id=f"d{number}#0", document_id=f"d{number}", title=f"T{number}", text=text, start=3, end=3 + len(text)
    )


def corpus(size: int = 400, *, short: int = 0) -> FakeCorpus:
    """Make a corpus in which the filter drops the first `short` passages."""
    return FakeCorpus(tuple(passage(n, "Too short." if n < short else FACT * 3) for n in range(size)))


def config(out: Path, **how: Any) -> RunConfig:
    return build(values={"corpus": {"name": "tiny"}, "runtime": {"out": out, **how}})


def record(seed: Seed, share: float = 0.4) -> Record:
    chance = int(sha256(f"{seed.passage.id}:{seed.draw}")[:8], 16) / 2**32
    status = Status.ACCEPTED if chance < share else Status.FAILED if chance > 0.95 else Status.REJECTED
    reason = {Status.ACCEPTED: "", Status.FAILED: "deadline", Status.REJECTED: "superficial"}[status]
    return Record(key=seed.key, seed=seed, status=status, reason=reason, rounds=(), lineage=LINEAGE)


def make_run_seed(*, seconds: float = 0.0, share: float = 0.4, chance: int = 0) -> Callable[[Seed], Awaitable[Record]]:
    """Make a `run_seed` that takes up to `seconds`, drawn from `chance`, so that seeds end out of order."""
    lengths = random.Random(chance)

    async def run_seed(seed: Seed) -> Record:
        await asyncio.sleep(lengths.random() * seconds)
        return record(seed, share)

    return run_seed


class RunCallbacks(LogCallbacks):
    """Records all events."""

    def __init__(self) -> None:
        self.start_count = 0
        self.records: list[Record] = []
        self.attempts: list[Attempt] = []
        self.drops: list[tuple[str, str]] = []
        self.troubles: list[str] = []

    def started(self, run: RunView) -> None:
        self.start_count += 1

    def record(self, record: Record) -> None:
        self.records.append(record)

    def attempt(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def gated(self, head: Head, drop: Drop) -> None:
        self.drops.append((head.key, drop.reason))

    def trouble(self, seed: Seed, error: Exception, pause: float) -> None:
        self.troubles.append(str(error))


def first_keys(run: Run, count: int) -> list[str]:
    """Return the keys of the first seeds of the plan."""
    return [run._order[index].seed.key for index in range(count)]


async def run_part(
    run: Run, indexes: range, run_seed: Callable[[Seed], Awaitable[Record]], callbacks: LogCallbacks
) -> None:
    """Run only these seeds of the plan."""
    run.begin(callbacks)
    await run._run_owed(((index, run._order[index]) for index in indexes), run_seed)
