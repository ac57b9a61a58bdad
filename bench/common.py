"""What the benches share: a corpus opened, a run read, intervals, seconds, plain tables."""

import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from pipeline.config import RunConfig, build
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.run import prepare, resume
from pipeline.run.locate import run_folder
from pipeline.run.plan import judge_records
from pipeline.store.journal import Journal
from pipeline.types import Record, Status

T = TypeVar("T")
DRAWS = 2000


class Interval(NamedTuple):
    """A figure with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def interval(items: Sequence[T], figure: Callable[[Sequence[T]], float], draws: int = DRAWS) -> Interval:
    """Percentile bootstrap over the items, with a fixed seed."""
    chance = random.Random(0)
    values = sorted(v for v in (figure(chance.choices(items, k=len(items))) for _ in range(draws)) if not math.isnan(v))
    if not values:
        return Interval(figure(items), math.nan, math.nan)
    return Interval(figure(items), values[int(0.025 * len(values))], values[int(0.975 * len(values))])


def format_share(parts: int, whole: int) -> str:
    return f"{parts}/{whole} = {100 * parts / whole:.1f} %" if whole else "0/0"


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else math.nan


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Columns as wide as they must be, the first to the left."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = [
        "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


class Ground(NamedTuple):
    """A corpus, opened: what episodes are dug from."""

    config: RunConfig
    corpus: Corpus
    context: RunContext


def open_ground(corpus: str, out: Path, sets: Sequence[str] = ()) -> Ground:
    config = build(values={"corpus": {"name": corpus}, "runtime": {"out": str(out)}}, sets=list(sets))
    texts = prepare.corpus(config)
    return Ground(config, texts, prepare.context(config, texts))


class Dug(NamedTuple):
    """A run's records in the order of its plan, and its configuration."""

    folder: Path
    config: RunConfig
    records: list[Record]

    @property
    def accepted(self) -> list[Record]:
        return [record for record in self.records if record.status is Status.ACCEPTED]


def load_run(run: str, out: Path, pairs: int | None = None) -> Dug:
    """The run of that folder or name; with `pairs`, up to so many accepted ones."""
    folder = run_folder(run, out)
    config = resume.read(folder).config
    records = [record for record, _ in judge_records(Journal(folder / "journal"), config)]
    if pairs is not None:
        ends = islice((i for i, r in enumerate(records, 1) if r.status is Status.ACCEPTED), pairs - 1, None)
        records = records[: next(ends, len(records))]
    return Dug(folder, config, records)


class Stopwatch:
    """Adds up the seconds of its contexts: by the clock, and of the processor."""

    wall = cpu = 0.0

    def __enter__(self) -> Self:
        self._since = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self._since[0]
        self.cpu += time.process_time() - self._since[1]


def heading(name: str, records: Sequence[Record]) -> str:
    """Which data and whose: figures made with the embedded model say so wherever they stand."""
    lineage = records[0].lineage if records else None
    if lineage is None:
        return f"{name}: no records"
    embedded = " (figures of the loop, not of the data)" if lineage.by_demo else ""
    return (
        f"{name}: run {lineage.run}, corpus {lineage.corpus}, retriever {lineage.retriever}, model {lineage.model}, "
        f"demo solver {lineage.demo_solver}{embedded}"
    )
