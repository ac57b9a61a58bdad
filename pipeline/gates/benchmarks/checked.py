"""Which evaluation sets were looked for in a data set, and which were not: `corpora/benchmarks/benchmarks.toml`."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pipeline.config import toml
from pipeline.config.gates import GateConfig
from pipeline.gates.benchmarks import question_rows
from pipeline.gates.contaminated import SHIPPED
from pipeline.text import words
from pipeline.types import Data


class Benchmark(Data):
    name: str
    split: str
    questions: int
    listed: int
    """Questions that the shipped list holds."""
    file: str = ""
    """Its name, without the suffix; none where nothing is shipped."""
    licence: str
    known_as: tuple[str, ...]
    """Parts of the names under which people keep it."""
    source: str = ""
    """Where a user finds what is not shipped."""

    def __str__(self) -> str:
        return f"{self.name} ({self.split})"

    def named(self, name: Sequence[str]) -> bool:
        """Is this what a file holds, by the words of its name? Short names must be one of them: "nq"."""
        return any(known in name or (len(known) > 3 and known in "".join(name)) for known in self.known_as)


class BenchmarkCoverage(NamedTuple):
    """Evaluation sets by name, split and how much of them."""

    checked: list[str]
    unchecked: list[str]


def coverage(settings: GateConfig) -> BenchmarkCoverage:
    """What is not shipped counts as checked where the user gave a file that has its name."""
    off = "contaminated" in settings.off
    given = [words(name) for path in settings.against for name in _names(path)]
    checked, unchecked = [], []
    for one in table():
        if off:
            unchecked.append(str(one))
        elif one.listed < one.questions and any(one.named(name) for name in given):
            checked.append(f"{one}, from the file that was given")
        elif one.listed:
            checked.append(f"{one}, {one.listed:,} of {one.questions:,} questions")
            if one.listed < one.questions:
                unchecked.append(f"{one.questions - one.listed:,} questions of {one}")
        else:
            unchecked.append(str(one))
    return BenchmarkCoverage(checked, unchecked)


@cache
def table() -> tuple[Benchmark, ...]:
    return tuple(Benchmark.model_validate(row) for row in toml.read(SHIPPED / "benchmarks.toml")["benchmark"])


def _names(path: Path) -> Iterable[str]:
    """Of the file, or of the folder, those within it and its files."""
    files = question_rows.files(path) if path.is_dir() else []
    return {path.stem} | {part for file in files for part in file.relative_to(path).with_suffix("").parts}
