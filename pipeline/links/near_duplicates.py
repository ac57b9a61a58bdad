"""Group documents that are versions of each other: near-duplicates, and documents with equal titles."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipeline.links.sorted_tables import Columns
from pipeline.links.survey import SKETCH
from pipeline.links.titles import NONE
from pipeline.links.tokens import U64, mix_bits

_ROWS = 3
"""Two sketches are compared only if a band of this many numbers is equal."""
_ALIKE = 17
"""Near-duplicates have at least this many of their `SKETCH` numbers in common."""
_EMPTY = np.iinfo(np.uint32).max


def group_versions(sketches: Columns, titles: U64, most: int) -> npt.NDArray[np.uint32]:
    """Return for each document the first of its versions.

    `titles` are hashes. A title that more than `most` documents share does not make them versions.
    """
    group = np.arange(len(titles), dtype=np.uint32)
    columns = [sketches[f"least{number}"] for number in range(SKETCH)]
    for first, second in (*_pair_by_title(titles, most), *_pair_by_sketch(columns)):
        _join_pairs(group, first, second)
    return group


def _pair_by_title(titles: U64, most: int) -> Iterator[tuple[Any, Any]]:
    of_title = (
        pl.DataFrame({"title": titles})
        .with_row_index()
        .with_columns(first=pl.first("index").over("title"), documents=pl.len().over("title"))
    )
    few = of_title.filter((pl.col("title") != NONE) & pl.col("documents").is_between(2, most))
    yield few["first"].to_numpy(), few["index"].to_numpy()


def _pair_by_sketch(columns: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    for band in range(0, SKETCH, _ROWS):
        key = np.zeros(len(columns[0]), np.uint64)
        for column in columns[band : band + _ROWS]:
            key = mix_bits(key + column)
        order = np.argsort(key, kind="stable")
        same = np.flatnonzero(key[order][1:] == key[order][:-1])
        first, second = order[same], order[same + 1]
        common = np.zeros(len(first), np.uint8)
        for column in columns:
            common += (column[first] == column[second]) & (column[first] != _EMPTY)
        yield first[common >= _ALIKE], second[common >= _ALIKE]


def _join_pairs(group: npt.NDArray[np.uint32], first: Any, second: Any) -> None:
    """Give each pair, and everything already joined to it, the lowest of their groups."""
    while True:
        first_group, second_group = group[first], group[second]
        differs = first_group != second_group
        if not differs.any():
            return
        low, high = (
            np.minimum(first_group[differs], second_group[differs]),
            np.maximum(first_group[differs], second_group[differs]),
        )
        np.minimum.at(group, high, low)
        while not np.array_equal(settled := group[group], group):
            group[:] = settled
