"""The contract of every reader: a path in, rows out, one at a time, within limits.

A row that cannot be read is still a row, with its error: the corpus counts it and decides when there are too many.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import Field

from pipeline.errors import CorpusError
from pipeline.types import Data


class Limits(Data):
    """What a corpus may cost. Beyond `bytes` or `docs` the run stops; a longer document is left out and counted."""

    bytes: int = Field(4 << 30, ge=1)
    """Decompressed."""
    docs: int = Field(2_000_000, ge=1)
    doc_chars: int = Field(200_000, ge=1)


class Row(NamedTuple):
    place: str
    """Where it stands, for messages: `line 17` or a file name."""
    key: str
    """A stable id for a row that has none of its own."""
    values: Mapping[str, Any]
    error: str = ""


class Reader(Protocol):
    SUFFIXES: tuple[str, ...]

    def read(self, path: Path, limits: Limits) -> Iterator[Row]:
        """All rows of `path`, in order. Raises CorpusError where nothing more can be read."""
        ...


def walked(folder: Path) -> Iterator[Path]:
    """All files of a folder, at any depth, in no order."""

    def fail(error: OSError) -> None:
        raise CorpusError(f"{folder}: cannot be listed ({error})") from error

    for place, _, names in os.walk(folder, onerror=fail):
        yield from (Path(place) / name for name in names)


def files(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Those with one of the endings, in the order of their names."""
    return sorted(path for path in walked(folder) if path.name.lower().endswith(endings))
