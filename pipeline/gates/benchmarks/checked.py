"""The evaluation sets with which a data set was compared, and those with which it was not.

`corpora/benchmarks/benchmarks.toml` lists them.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pipeline.config import toml
from pipeline.config.exports import GateConfig
from pipeline.gates.benchmarks import question_rows
from pipeline.gates.contaminated import SHIPPED
from pipeline.text import words
from pipeline.types import Data


class Benchmark(Data):
    name: str
    split: str
    questions: int
    listed: int
    """The number of questions in the shipped list."""
    file: str = ""
    """The name of the shipped list without its suffix; empty if none is shipped."""
    licence: str
    known_as: tuple[str, ...]
    """Parts of the file names that people use for it."""
    source: str = ""
    """Where users find the questions that are not shipped."""

    def __str__(self) -> str:
        return f"{self.name} ({self.split})"

    def is_named(self, name_words: Sequence[str]) -> bool:
        """Return whether a file name with these words names the benchmark. Short names, as "nq", must be a word."""
        return any(alias in name_words or (len(alias) > 3 and alias in "".join(name_words)) for alias in self.known_as)


class BenchmarkCoverage(NamedTuple):
    """Evaluation sets: name, split, and how many of their questions."""

    checked: list[str]
    unchecked: list[str]


def coverage(settings: GateConfig) -> BenchmarkCoverage:
    """Return the evaluation sets that were checked and those that were not.

    A set that is not shipped counts as checked if the user gave a file with its name.
    """
    is_off = "contaminated" in settings.off
    user_names = [words(name) for path in settings.against for name in _names(path)]
    checked, unchecked = [], []
    for benchmark in table():
        if is_off:
            unchecked.append(str(benchmark))
        elif benchmark.listed < benchmark.questions and any(map(benchmark.is_named, user_names)):
            checked.append(f"{benchmark}, from the file that was given")
        elif benchmark.listed:
            checked.append(f"{benchmark}, {benchmark.listed:,} of {benchmark.questions:,} questions")
            if benchmark.listed < benchmark.questions:
                unchecked.append(f"{benchmark.questions - benchmark.listed:,} questions of {benchmark}")
        else:
            unchecked.append(str(benchmark))
    return BenchmarkCoverage(checked, unchecked)


@cache
def table() -> tuple[Benchmark, ...]:
    return tuple(Benchmark.model_validate(row) for row in toml.read(SHIPPED / "benchmarks.toml")["benchmark"])


def _names(path: Path) -> Iterable[str]:
    files = question_rows.files(path) if path.is_dir() else []
    return {path.stem} | {part for file in files for part in file.relative_to(path).with_suffix("").parts}
