"""Tables of numbers on disk, each a file that is sorted by a key. `ranges` merges the files of a kind by key.

Only a limited number of rows is in memory at a time.
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
"""Rows in memory at a time."""


def write(path: Path, table: pl.DataFrame | Columns, key: str = "") -> None:
    """Write the table, sorted by its key if it has one. Rows with equal keys keep their order."""
    rows = pl.DataFrame(table)
    rows = rows.sort(key, maintain_order=True) if key else rows
    parts.write(path, pa.RecordBatch.from_pydict({column.name: parts.numbers(column.to_numpy()) for column in rows}))


def read(path: Path) -> Columns:
    """Map the columns of a table into memory."""
    table = parts.map_table(path)
    return {name: parts.column(table, name) for name in table.column_names}


def ranges(paths: Sequence[Path], key: str, *, most: int | None = None) -> Iterator[pl.DataFrame]:
    """Yield all rows in ranges of the key, each sorted by it. No two ranges share a key."""
    tables = [read(path) for path in paths]
    for low, high in _bounds([table[key] for table in tables], most or _TOGETHER) if tables else ():
        row_ranges = [slice(*_row_range(table[key], low, high)) for table in tables]
        slices = [{name: table[name][rows] for name in table} for table, rows in zip(tables, row_ranges, strict=True)]
        table_range = pl.concat([pl.DataFrame(table) for table in slices])
        if len(table_range):
            yield table_range.sort(key, maintain_order=True)


def _row_range(keys: Any, low: Any, high: Any) -> tuple[int, int]:
    return int(np.searchsorted(keys, low)), len(keys) if high is None else int(np.searchsorted(keys, high))


def _bounds(keys: Sequence[Any], most: int) -> Iterator[tuple[Any, Any]]:
    rows = sum(map(len, keys))
    count = rows // most + 1
    samples: Any = np.sort(np.concatenate([key[:: max(1, rows // (256 * count))] for key in keys]))
    cuts = [samples[len(samples) * index // count] for index in range(1, count)] if len(samples) else []
    return pairwise([keys[0].dtype.type(0), *dict.fromkeys(cuts), None])


def heads(keys: Any) -> Any:
    """Return the indices at which the value of a sorted column changes."""
    return np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)


def spread(first: Any, count: Any) -> Any:
    """Return all numbers of the ranges with these starts and lengths."""
    total = np.cumsum(count)
    return np.arange(total[-1] if len(total) else 0) + np.repeat(first - (total - count), count)


def find(sorted_keys: Any, keys: Any) -> Any:
    """Return the index of each key in a sorted column, or -1."""
    if not len(sorted_keys):
        return np.full(len(keys), -1)
    index = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[index] == keys, index, -1)
