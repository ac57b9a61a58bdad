"""Which documents are versions of one another, and count as one: near-duplicates, and those of one title."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipeline.links.sorted_tables import Columns
from pipeline.links.survey import SKETCH
from pipeline.links.titles import NONE
from pipeline.links.tokens import U64, mixed

_ROWS = 3
"""Numbers of a sketch that must all be the same before two sketches are compared."""
_ALIKE = 17
"""Numbers of `SKETCH` that near-duplicates have in common."""
_EMPTY = np.iinfo(np.uint32).max


def groups(sketches: Columns, titles: U64, most: int) -> npt.NDArray[np.uint32]:
    """For each document the first of its versions. `titles` are hashes of the titles; one that more than `most`
    documents have is no title of theirs."""
    group = np.arange(len(titles), dtype=np.uint32)
    columns = [sketches[f"least{number}"] for number in range(SKETCH)]
    for first, second in (*_same_title(titles, most), *_alike(columns)):
        _join(group, first, second)
    return group


def _same_title(titles: U64, most: int) -> Iterator[tuple[Any, Any]]:
    of_title = (
        pl.DataFrame({"title": titles})
        .with_row_index()
        .with_columns(first=pl.first("index").over("title"), documents=pl.len().over("title"))
    )
    few = of_title.filter((pl.col("title") != NONE) & pl.col("documents").is_between(2, most))
    yield few["first"].to_numpy(), few["index"].to_numpy()


def _alike(columns: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    for band in range(0, SKETCH, _ROWS):
        key = np.zeros(len(columns[0]), np.uint64)
        for column in columns[band : band + _ROWS]:
            key = mixed(key + column)
        order = np.argsort(key, kind="stable")
        same = np.flatnonzero(key[order][1:] == key[order][:-1])
        first, second = order[same], order[same + 1]
        common = np.zeros(len(first), np.uint8)
        for column in columns:
            common += (column[first] == column[second]) & (column[first] != _EMPTY)
        yield first[common >= _ALIKE], second[common >= _ALIKE]


def _join(group: npt.NDArray[np.uint32], first: Any, second: Any) -> None:
    """Give both of each pair, and all that is joined to them, the least of their groups."""
    while True:
        one, other = group[first], group[second]
        apart = one != other
        if not apart.any():
            return
        low, high = np.minimum(one[apart], other[apart]), np.maximum(one[apart], other[apart])
        np.minimum.at(group, high, low)
        while not np.array_equal(settled := group[group], group):
            group[:] = settled
