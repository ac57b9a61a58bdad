"""The names of documents, titles and aliases, as hashes by which their mentions in other documents are found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from pipeline.links.sorted_tables import Columns, find
from pipeline.links.tokens import LONGEST, U64, Words, mixed, phrases, sums, words
from pipeline.text import strip_tag

NONE = np.uint64(0)
"""The hash of a title that nobody can mention, and that makes no two documents versions of one another."""


def named(names: Sequence[str], *, sections: bool) -> Columns:
    """Of each name: `hash` as it would be mentioned, without what stands in brackets after it, and `whole` with that;
    `begins`, that of its first two words; how many `words` and `capitals` it has, and whether it has brackets.
    `sections`: what is in brackets is a part of the same thing, and not another thing of that name."""
    plain = [strip_tag(name) for name in names]
    read = words(plain)
    begins = np.searchsorted(read.text, np.arange(len(names)))
    count = np.diff(np.append(begins, len(read)))
    hashes = phrases(read.hash, begins, np.minimum(count, LONGEST))
    length = np.fromiter(map(len, plain), np.int64, len(names))
    number = sums(read.digits > 0)[begins + count] - sums(read.digits > 0)[begins] == count
    mentioned = (count > 0) & (count <= LONGEST) & (length > 1) & ~number
    capitals = sums(read.capital)
    whole = words(names)
    start = np.searchsorted(whole.text, np.arange(len(names)))
    size = np.diff(np.append(start, len(whole)))
    place = (np.arange(len(whole)) - np.repeat(start, size)).astype(np.uint64)
    full = np.full(len(names), NONE)
    full[size > 0] = mixed(np.add.reduceat(mixed(whole.hash + place), start[size > 0])) if len(whole) else NONE
    return {
        "hash": np.where(mentioned, hashes, NONE),
        "begins": phrases(read.hash, begins, np.minimum(count, 2)),
        "whole": hashes if sections else full,
        "full": full,
        "words": count.astype(np.uint8),
        "capitals": (capitals[begins + count] - capitals[begins]).astype(np.uint8),
        "tagged": np.fromiter((a != b for a, b in zip(plain, names, strict=True)), np.uint8, len(names)),
    }


def written_small(name: Columns, read: Words, first: int) -> Any:
    """Which documents, of those whose words were read, write the one word of their title in small letters, so that it
    is no name? `first` is the number of the first in `name`."""
    own = name["hash"][first + read.text]
    of = (name["words"][first + read.text] == 1) & read.cased & ~read.capital
    at = np.flatnonzero(of)
    at = at[phrases(read.hash, at, np.ones(len(at), np.int64)) == own[at]]
    return np.unique(first + read.text[at])


class KnownTitles:
    """Hashes that are looked for among many others: most of what is not there costs one look."""

    def __init__(self, hashes: U64) -> None:
        self.hashes = hashes
        """Sorted."""
        bits = min(30, max(10, len(hashes).bit_length() + 4))
        self._shift = np.uint64(64 - bits)
        self._may = np.zeros(1 << bits, np.bool_)
        self._may[hashes >> self._shift] = True

    def find(self, hashes: U64) -> Any:
        """The place of each, or -1."""
        places = np.full(len(hashes), -1)
        may = np.flatnonzero(self._may[hashes >> self._shift])
        places[may] = find(self.hashes, hashes[may])
        return places

    def holds(self, hashes: U64) -> Any:
        return self.find(hashes) >= 0


@dataclass(frozen=True)
class Titles:
    """All names of a corpus by their hashes, without those that mean several things."""

    names: KnownTitles
    begins: KnownTitles
    """The first two words of those that have several."""
    several: KnownTitles
    """Those that mean several things: they link nothing."""
    capitals: Any
    """That a mention of each of the names must have, at least."""

    @classmethod
    def of(cls, table: Columns) -> "Titles":
        """From the rows of all names."""
        differ = pl.col("whole", "row").n_unique() > 1
        rows = (
            pl.DataFrame(table)
            .with_columns(needed=_needed())
            .group_by("hash")
            .agg(pl.first("words", "begins"), pl.max("needed"), unclear=pl.all_horizontal(differ))
            .sort("hash")
        )
        good = rows.filter((pl.col("hash") != NONE) & ~pl.col("unclear"))
        begins = good.filter(pl.col("words") > 1)["begins"].unique().sort()
        hashes = good["hash"], begins, rows.filter("unclear")["hash"]
        names, first_two, several = (KnownTitles(column.to_numpy()) for column in hashes)
        return cls(names, first_two, several, good["needed"].to_numpy())


def _needed() -> pl.Expr:
    """Capital letters of a title's first word alone say nothing, unless it is a name: one that its own text never
    writes small, or that brackets tell from others of its name."""
    name = ((pl.col("words") == 1) & (pl.col("small") == 0)) | (pl.col("tagged") > 0)
    return pl.when((pl.col("capitals") > 1) | name).then("capitals").otherwise(0)
