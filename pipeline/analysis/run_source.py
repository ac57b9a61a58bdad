"""What the pages are made from: runs, of which each gives a table of its seeds and single records."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import polars as pl

from pipeline.analysis.comparison import Compared
from pipeline.analysis.figures import Outside
from pipeline.config import RunConfig
from pipeline.errors import UsageError
from pipeline.store.review_marks import Mark
from pipeline.types import Record


class Table(NamedTuple):
    """The table of seeds as it stands now."""

    frame: pl.LazyFrame
    """With the columns of `seeds.parquet`."""
    version: str
    """Another one where the rows may be others."""
    pending: str = ""
    """What is still being read, in words; empty where all is there."""


class Source(ABC):
    """One run, or what is left of one: what stands here is of one that came without the file and folder of its run."""

    slug: str
    """Its name in addresses."""
    name: str
    """Its name for people."""
    folder: Path
    config: RunConfig | None = None
    what: Mapping[str, Any] = MappingProxyType({})
    """The settings that the run was begun with; empty where no run's file is there."""
    reviewable = False
    """Can people mark its pairs here?"""

    @abstractmethod
    def seeds(self) -> Table:
        """The rows as far as they are read."""

    def whole(self) -> Table:
        """All of it, however long that takes. Raises StoreError where it cannot be made."""
        return self.seeds()

    def read(self, key: str) -> Record | None:
        """One record with what was found out later; None where there is no journal. Raises KeyError for a key that is
        not there, StoreError where its line cannot be read."""
        return None

    def rows(self, key: str) -> dict[str, list[dict[str, Any]]]:
        """What the data set holds of one pair, by view; for a source without a journal."""
        return {}

    def outside(self) -> Outside:
        return Outside()

    def attempts(self) -> pl.LazyFrame | None:
        """Every try at a seed: `ended`, `began`, `seconds`. None where nothing was noted."""
        return None

    def marks(self) -> tuple[Mark, ...]:
        """What people say of its pairs: of each person the latest."""
        return ()

    def mark(self, mark: Mark) -> None:
        """Keep it durably before this returns. Raises StoreError where it cannot, UsageError where this is no run."""
        raise UsageError("marks are kept in the folder of a run, and this is none")

    def publish(self) -> None:
        """Write card and report anew with what all marks come to; it takes as long as an export."""
        raise UsageError("only a run has a card to write")


def compared(source: Source, table: Table) -> Compared:
    """What a comparison needs of it."""
    policy = source.config.gates.policy if source.config else ""
    return Compared(source.name, table.frame, source.outside(), source.what, policy)


class Listing(NamedTuple):
    """A run as the start page shows it; `problem` says why it cannot be opened."""

    slug: str
    name: str
    path: Path
    age: float
    """When it was begun, in seconds since 1970."""
    problem: str = ""

    @property
    def begun(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.age))


class Library(Protocol):
    """The runs that can be looked at."""

    def list_runs(self) -> Sequence[Listing]:
        """The newest first; those that were begun since are among them."""

    def open(self, slug: str) -> Source:
        """Raises KeyError for an unknown name, UsageError and StoreError where the run cannot be read."""
