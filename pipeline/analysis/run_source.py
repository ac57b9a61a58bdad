"""Interface of the runs that the browser shows: each has a table of its seeds and single records."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from pipeline.analysis.comparison import ComparisonInput
from pipeline.analysis.figures import Outside
from pipeline.config import RunConfig
from pipeline.errors import UsageError
from pipeline.store.review_marks import Mark
from pipeline.types import Record


class Table(NamedTuple):
    """The current table of seeds."""

    frame: pl.LazyFrame
    """With the columns of `seeds.parquet`."""
    version: str
    """Changes whenever the rows may have changed."""
    pending: str = ""
    """What is still being read, in words; empty if the table is complete."""


class Source(ABC):
    """A run, or a data set without its run. The defaults here are for a data set without journal and configuration."""

    slug: str
    """Its name in URLs."""
    name: str
    """Its name for people."""
    folder: Path
    config: RunConfig | None = None
    what: Mapping[str, Any] = MappingProxyType({})
    """The settings of the run; empty if they are unknown."""
    reviewable = False
    """Whether people can mark its pairs."""

    @abstractmethod
    def seeds(self) -> Table:
        """Return the rows that are read so far."""

    def whole(self) -> Table:
        """Return the complete table, however long it takes. Raise StoreError if that fails."""
        return self.seeds()

    def read(self, key: str) -> Record | None:
        """Return a record with its later measurements, or None if there is no journal.

        Raises KeyError if the key is unknown, and StoreError if the line cannot be read.
        """
        return None

    def comparison_input(self) -> ComparisonInput:
        """Return what a comparison needs of the complete run."""
        policy = self.config.gates.policy if self.config else ""
        return ComparisonInput(self.name, self.whole().frame, self.outside(), self.what, policy)

    def rows(self, key: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of a pair by view, if there is no journal."""
        return {}

    def outside(self) -> Outside:
        return Outside()

    def attempts(self) -> pl.LazyFrame | None:
        """Return every attempt at a seed: `ended`, `began`, `seconds`. None if they were not recorded."""
        return None

    def marks(self) -> tuple[Mark, ...]:
        """Return the latest mark of each person on each pair."""
        return ()

    def mark(self, mark: Mark) -> None:
        """Save the mark durably. Raise StoreError if that fails, and UsageError if this is no run."""
        raise UsageError("marks are kept in the folder of a run; open a run to mark its pairs")

    def publish(self) -> None:
        """Write card and report again with all marks. It takes as long as an export."""
        raise UsageError("only a run has a card to write")


class Listing(NamedTuple):
    """A run on the start page. `problem` says why it cannot be opened."""

    slug: str
    name: str
    path: Path
    age: float
    """Start time, in seconds since 1970."""
    problem: str = ""

    @property
    def begun(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.age))
