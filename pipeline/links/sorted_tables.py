"""Tables of numbers on disk, each a file that is sorted by a key; all files of a kind are gone through in ranges of it.

Few rows are in memory at once, however many there are.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.corpus import parts

Columns = dict[str, npt.NDArray[Any]]
_TOGETHER = 4 << 20
"""Rows at once."""


def write(path: Path, columns: Columns, key: str) -> None:
    """The table, sorted by its key; rows of one key keep their order."""
    order = np.argsort(columns[key], kind="stable")
    save(path, {name: values[order] for name, values in columns.items()})


def save(path: Path, columns: Columns) -> None:
    arrays = {name: parts.numbers(values) for name, values in columns.items()}
    parts.write(path, pa.RecordBatch.from_pydict(arrays))


def read(path: Path) -> Columns:
    """Mapped: pages are read when they are looked at."""
    table = parts.mapped(path)
    return {name: parts.column(table, name) for name in table.column_names}


def ranges(paths: Sequence[Path], key: str, *, most: int | None = None) -> Iterator[Columns]:
    """All rows, in ranges of the key that no two tables share, each sorted by it."""
    tables = [read(path) for path in paths]
    for low, high in _bounds([table[key] for table in tables], most or _TOGETHER):
        cut = [
            {name: values[slice(*_within(table[key], low, high))] for name, values in table.items()} for table in tables
        ]
        whole = {name: np.concatenate([table[name] for table in cut]) for name in cut[0]} if cut else {}
        if whole and len(whole[key]):
            order = np.argsort(whole[key], kind="stable")
            yield {name: values[order] for name, values in whole.items()}


def _within(keys: Any, low: Any, high: Any) -> tuple[int, int]:
    return int(np.searchsorted(keys, low)), len(keys) if high is None else int(np.searchsorted(keys, high))


def _bounds(keys: Sequence[Any], most: int) -> Iterator[tuple[Any, Any]]:
    """Ranges of about so many rows, by a sample of each table."""
    rows = sum(map(len, keys))
    count = rows // most + 1
    kind = keys[0].dtype.type if keys else np.uint64
    samples: Any = np.sort(np.concatenate([key[:: max(1, rows // (256 * count))] for key in keys])) if keys else []
    cuts = [samples[len(samples) * number // count] for number in range(1, count)] if len(samples) else []
    edges = [kind(0), *dict.fromkeys(cuts), None]
    return pairwise(edges)


def heads(keys: Any) -> Any:
    """Where in a sorted column another value begins."""
    return np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.empty(0, np.int64)


def spread(first: Any, count: Any) -> Any:
    """All numbers of the ranges that begin there and are so long."""
    total = np.cumsum(count)
    return np.arange(total[-1] if len(total) else 0) + np.repeat(first - (total - count), count)


def summed(columns: Columns, key: str) -> Columns:
    """One row for each value of the key, by which the table is sorted; the other columns are added up."""
    first = heads(columns[key])
    if not len(first):
        return columns
    return {name: values[first] if name == key else np.add.reduceat(values, first) for name, values in columns.items()}


def find(sorted_keys: Any, keys: Any) -> Any:
    """The place in a sorted column of each key, or -1."""
    if not len(sorted_keys):
        return np.full(len(keys), -1)
    place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[place] == keys, place, -1)
