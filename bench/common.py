"""Shared by the benchmarks: load a run, measure seconds, compute intervals, print tables."""

import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from pipeline.config import RunConfig
from pipeline.run import resume
from pipeline.run.locate import run_folder
from pipeline.run.plan import judge_records
from pipeline.store.journal import Journal
from pipeline.types import Record, Status

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
DRAWS = 2000


class Interval(NamedTuple):
    """A figure with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def bootstrap(rows: Sequence[T], compute: Callable[[Sequence[T]], float]) -> Interval:
    """Compute a figure with its percentile bootstrap interval over the rows, with a fixed seed."""
    rng = random.Random(0)
    values = sorted(v for v in (compute(rng.choices(rows, k=len(rows))) for _ in range(DRAWS)) if not math.isnan(v))
    if not values:
        return Interval(compute(rows), math.nan, math.nan)
    return Interval(compute(rows), values[int(0.025 * len(values))], values[int(0.975 * len(values))])


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else math.nan


def format_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Align the first column to the left and the others to the right."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = [
        "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])


class LoadedRun(NamedTuple):
    """A run's records in the order of its plan, and its configuration."""

    folder: Path
    config: RunConfig
    records: list[Record]

    @property
    def accepted(self) -> list[Record]:
        return [record for record in self.records if record.status is Status.ACCEPTED]


def load_run(name: str, out: Path) -> LoadedRun:
    folder = run_folder(name, out)
    config = resume.read(folder).config
    records = [record for record, _ in judge_records(Journal(folder / "journal"), config)]
    return LoadedRun(folder, config, records)


class Stopwatch:
    """Adds up wall-clock and processor seconds over its contexts."""

    wall = cpu = 0.0

    def __enter__(self) -> Self:
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self._start[0]
        self.cpu += time.process_time() - self._start[1]


def format_heading(name: str, records: Sequence[Record]) -> str:
    """Name the run and its models, and say if the figures come from the embedded model."""
    lineage = records[0].lineage if records else None
    if lineage is None:
        return f"{name}: no records"
    warning = " (figures of the loop, not of the data)" if lineage.by_demo else ""
    return (
        f"{name}: run {lineage.run}, corpus {lineage.corpus}, retriever {lineage.retriever}, model {lineage.model}, "
        f"demo solver {lineage.demo_solver}{warning}"
    )
