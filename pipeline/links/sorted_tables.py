"""Tables of numbers on disk, each a file that is sorted by a key; all files of a kind are gone through in ranges of it.

Few rows are in memory at once, however many there are.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from pipeline.corpus import parts

Columns = dict[str, npt.NDArray[Any]]
_TOGETHER = 4 << 20
"""Rows at once."""


def write(path: Path, table: pl.DataFrame | Columns, key: str = "") -> None:
    """The table, sorted by its key where it has one; rows of one key keep their order."""
    rows = pl.DataFrame(table)
    rows = rows.sort(key, maintain_order=True) if key else rows
    parts.write(path, pa.RecordBatch.from_pydict({column.name: parts.numbers(column.to_numpy()) for column in rows}))


def read(path: Path) -> Columns:
    """Mapped: pages are read when they are looked at."""
    table = parts.mapped(path)
    return {name: parts.column(table, name) for name in table.column_names}


def ranges(paths: Sequence[Path], key: str, *, most: int | None = None) -> Iterator[pl.DataFrame]:
    """All rows, in ranges of the key that no two tables share, each sorted by it."""
    tables = [read(path) for path in paths]
    for low, high in _bounds([table[key] for table in tables], most or _TOGETHER) if tables else ():
        within = [slice(*_within(table[key], low, high)) for table in tables]
        cut = [{name: table[name][rows] for name in table} for table, rows in zip(tables, within, strict=True)]
        whole = pl.concat([pl.DataFrame(table) for table in cut])
        if len(whole):
            yield whole.sort(key, maintain_order=True)


def _within(keys: Any, low: Any, high: Any) -> tuple[int, int]:
    return int(np.searchsorted(keys, low)), len(keys) if high is None else int(np.searchsorted(keys, high))


def _bounds(keys: Sequence[Any], most: int) -> Iterator[tuple[Any, Any]]:
    """Ranges of about so many rows, by a sample of each table."""
    rows = sum(map(len, keys))
    count = rows // most + 1
    samples: Any = np.sort(np.concatenate([key[:: max(1, rows // (256 * count))] for key in keys]))
    cuts = [samples[len(samples) * number // count] for number in range(1, count)] if len(samples) else []
    return pairwise([keys[0].dtype.type(0), *dict.fromkeys(cuts), None])


def heads(keys: Any) -> Any:
    """Where in a sorted column another value begins."""
    return np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)


def spread(first: Any, count: Any) -> Any:
    """All numbers of the ranges that begin there and are so long."""
    total = np.cumsum(count)
    return np.arange(total[-1] if len(total) else 0) + np.repeat(first - (total - count), count)


def find(sorted_keys: Any, keys: Any) -> Any:
    """The place in a sorted column of each key, or -1."""
    if not len(sorted_keys):
        return np.full(len(keys), -1)
    place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[place] == keys, place, -1)
