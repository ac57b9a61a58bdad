"""The contract of every reader: a path in, rows out, one at a time, within limits.

A row that cannot be read is still a row, with its error: the corpus counts it and decides when there are too many.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import Field

from pipeline.errors import CorpusError
from pipeline.types import Data


class ReadLimits(Data):
    """What a corpus may cost. Beyond `bytes` or `docs` the run stops; a longer document is left out and counted."""

    bytes: int = Field(4 << 30, ge=1)
    """Decompressed."""
    docs: int = Field(2_000_000, ge=1)
    doc_chars: int = Field(200_000, ge=1)


LONGEST = 32 << 20
"""Bytes or characters of a line or a text; one that is longer is a bad row."""
_MAX_RATIO = 200
_FREE_BYTES = 64 << 20
"""The ratio is judged beyond this much only: small files of much the same text compress well, and do no harm."""


class Unpacked:
    """How much a file has unpacked to so far, so that a bomb of a few hundred bytes ends as an error and not as a full
    memory."""

    def __init__(self, path: Path, limits: ReadLimits) -> None:
        self._path, self._limits, self._total = path, limits, 0
        self._size = path.stat().st_size
        if not path.is_file():
            raise CorpusError(f"{path}: cannot be read: it is a pipe or a device, not a file")

    def add(self, count: int) -> None:
        """Raises CorpusError beyond the limit, or where the file unpacks to too many times its size."""
        self._total += count
        if self._total > self._limits.bytes:
            raise CorpusError(f"{self._path}: more than {self._limits.bytes} bytes; raise limits.bytes in its manifest")
        if self._total > _FREE_BYTES and self._total > _MAX_RATIO * self._size:
            raise CorpusError(f"{self._path}: unpacks to more than {_MAX_RATIO} times its size; refused as a bomb")


class Row(NamedTuple):
    place: str
    """Where it stands, for messages: `line 17` or a file name."""
    key: str
    """A stable id for a row that has none of its own."""
    values: Mapping[str, Any]
    error: str = ""


class Reader(Protocol):
    SUFFIXES: tuple[str, ...]

    def read(self, path: Path, limits: ReadLimits) -> Iterator[Row]:
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


def skipped(folder: Path, endings: tuple[str, ...]) -> dict[str, int]:
    """How many files have another ending, by that ending, the most frequent first."""
    others = (path for path in walked(folder) if not path.name.lower().endswith(endings))
    counts = Counter(path.suffix.lower() or "without an ending" for path in others)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def skipped_in_words(counts: Mapping[str, int]) -> str:
    """`7 skipped: 6 .pdf, 1 .csv`; empty where nothing was."""
    kinds = ", ".join(f"{count:,} {ending}" for ending, count in counts.items())
    return f"{sum(counts.values()):,} skipped: {kinds}" if kinds else ""
