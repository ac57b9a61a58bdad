"""A corpus, a `run_seed` and an observer for runs of milliseconds.

How a seed ends is drawn from its passage and draw, never from chance or time, unless a test says so.
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

    def in_order_of_ids(self, place: int) -> Passage:
        return self._by_id[place]


def passage(number: int, text: str = FACT * 3) -> Passage:
    return Passage(
        id=f"d{number}#0", document_id=f"d{number}", title=f"T{number}", text=text, start=3, end=3 + len(text)
    )


def corpus(size: int = 400, *, short: int = 0) -> FakeCorpus:
    """`short` of the passages are dropped by the filter."""
    return FakeCorpus(tuple(passage(n, "Too short." if n < short else FACT * 3) for n in range(size)))


def config(out: Path, **how: Any) -> RunConfig:
    return build(values={"corpus": {"name": "tiny"}, "runtime": {"out": out, **how}})


def record(seed: Seed, share: float = 0.4) -> Record:
    chance = int(sha256(f"{seed.passage.id}:{seed.draw}")[:8], 16) / 2**32
    status = Status.ACCEPTED if chance < share else Status.FAILED if chance > 0.95 else Status.REJECTED
    reason = {Status.ACCEPTED: "", Status.FAILED: "deadline", Status.REJECTED: "superficial"}[status]
    return Record(key=seed.key, seed=seed, status=status, reason=reason, rounds=(), lineage=LINEAGE)


def digger(*, seconds: float = 0.0, share: float = 0.4, chance: int = 0) -> Callable[[Seed], Awaitable[Record]]:
    """Seeds take up to `seconds`, drawn from `chance`, so that they end out of order."""
    lengths = random.Random(chance)

    async def run_seed(seed: Seed) -> Record:
        await asyncio.sleep(lengths.random() * seconds)
        return record(seed, share)

    return run_seed


class RunCallbacks(LogCallbacks):
    """Keeps what it is shown."""

    def __init__(self) -> None:
        self.begun = 0
        self.records: list[Record] = []
        self.attempts: list[Attempt] = []
        self.drops: list[tuple[str, str]] = []
        self.troubles: list[str] = []

    def started(self, run: RunView) -> None:
        self.begun += 1

    def record(self, record: Record) -> None:
        self.records.append(record)

    def attempt(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def gated(self, head: Head, drop: Drop) -> None:
        self.drops.append((head.key, drop.reason))

    def trouble(self, seed: Seed, error: Exception, pause: float) -> None:
        self.troubles.append(str(error))


def first(run: Run, count: int) -> list[str]:
    """The keys of the first seeds in the order of the plan."""
    return [run._order[index].seed.key for index in range(count)]


async def run_part(
    run: Run, indexes: range, run_seed: Callable[[Seed], Awaitable[Record]], callbacks: LogCallbacks
) -> None:
    """Run these seeds of the plan alone."""
    run.begin(callbacks)
    await run._run_owed(((index, run._order[index]) for index in indexes), run_seed)
