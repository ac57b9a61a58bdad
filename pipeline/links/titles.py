"""Hash the names of documents (titles and aliases), so that mentions of them in other documents can be found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from pipeline.links.sorted_tables import Columns, find
from pipeline.links.tokens import LONGEST, U64, Words, mix_bits, phrases, sums, words
from pipeline.text import strip_tag

NONE = np.uint64(0)
"""Hash of a title that cannot be mentioned and does not make two documents versions of each other."""


def hash_names(names: Sequence[str], *, sections: bool) -> Columns:
    """Hash names, as columns of one row per name.

    The columns are `hash` (as the name would be mentioned, without a tag in brackets), `whole` (with the tag), `begins`
    (the first two words), the numbers of `words` and `capitals`, and whether the name is `tagged`. If `sections` is
    set, a tag names a part of the same thing, and not another thing of that name.
    """
    plain = [strip_tag(name) for name in names]
    tokens = words(plain)
    first_words = np.searchsorted(tokens.text, np.arange(len(names)))
    count = np.diff(np.append(first_words, len(tokens)))
    hashes = phrases(tokens.hash, first_words, np.minimum(count, LONGEST))
    length = np.fromiter(map(len, plain), np.int64, len(names))
    is_number = sums(tokens.digits > 0)[first_words + count] - sums(tokens.digits > 0)[first_words] == count
    can_be_mentioned = (count > 0) & (count <= LONGEST) & (length > 1) & ~is_number
    capitals = sums(tokens.capital)
    full_tokens = words(names)
    start = np.searchsorted(full_tokens.text, np.arange(len(names)))
    full_count = np.diff(np.append(start, len(full_tokens)))
    position = (np.arange(len(full_tokens)) - np.repeat(start, full_count)).astype(np.uint64)
    full = np.full(len(names), NONE)
    full[full_count > 0] = (
        mix_bits(np.add.reduceat(mix_bits(full_tokens.hash + position), start[full_count > 0]))
        if len(full_tokens)
        else NONE
    )
    return {
        "hash": np.where(can_be_mentioned, hashes, NONE),
        "begins": phrases(tokens.hash, first_words, np.minimum(count, 2)),
        "whole": hashes if sections else full,
        "full": full,
        "words": count.astype(np.uint8),
        "capitals": (capitals[first_words + count] - capitals[first_words]).astype(np.uint8),
        "tagged": np.fromiter((a != b for a, b in zip(plain, names, strict=True)), np.uint8, len(names)),
    }


def find_small_titles(name: Columns, tokens: Words, first: int) -> Any:
    """Return the documents that write their one-word title in small letters, so that it is not a name.

    `first` is the index in `name` of the first document.
    """
    title_hashes = name["hash"][first + tokens.text]
    is_small = (name["words"][first + tokens.text] == 1) & tokens.cased & ~tokens.capital
    candidates = np.flatnonzero(is_small)
    candidates = candidates[
        phrases(tokens.hash, candidates, np.ones(len(candidates), np.int64)) == title_hashes[candidates]
    ]
    return np.unique(first + tokens.text[candidates])


class KnownTitles:
    """A set of hashes. Most absent hashes are rejected by a single look-up in a bitmap."""

    def __init__(self, hashes: U64) -> None:
        self.hashes = hashes
        """The hashes in ascending order."""
        bits = min(30, max(10, len(hashes).bit_length() + 4))
        self._shift = np.uint64(64 - bits)
        self._bitmap = np.zeros(1 << bits, np.bool_)
        self._bitmap[hashes >> self._shift] = True

    def find(self, hashes: U64) -> Any:
        indices = np.full(len(hashes), -1)
        candidates = np.flatnonzero(self._bitmap[hashes >> self._shift])
        indices[candidates] = find(self.hashes, hashes[candidates])
        return indices

    def holds(self, hashes: U64) -> Any:
        return self.find(hashes) >= 0


@dataclass(frozen=True)
class Titles:
    """Hashes of all names of a corpus, without ambiguous ones."""

    names: KnownTitles
    begins: KnownTitles
    """Hashes of the first two words of longer names."""
    several: KnownTitles
    """Names that mean several things, so they link nothing."""
    capitals: Any
    """Fewest capital letters that a mention of each name needs."""

    @classmethod
    def from_table(cls, table: Columns) -> "Titles":
        has_other_meaning = pl.col("whole", "row").n_unique() > 1
        rows = (
            pl.DataFrame(table)
            .with_columns(needed=_needed_capitals())
            .group_by("hash")
            .agg(pl.first("words", "begins"), pl.max("needed"), unclear=pl.all_horizontal(has_other_meaning))
            .sort("hash")
        )
        linking = rows.filter((pl.col("hash") != NONE) & ~pl.col("unclear"))
        begins = linking.filter(pl.col("words") > 1)["begins"].unique().sort()
        hashes = linking["hash"], begins, rows.filter("unclear")["hash"]
        names, first_two, ambiguous = (KnownTitles(column.to_numpy()) for column in hashes)
        return cls(names, first_two, ambiguous, linking["needed"].to_numpy())


def _needed_capitals() -> pl.Expr:
    """Return how many capitals a mention needs.

    A single capital proves nothing, unless the title is a name: a single word that its own text never writes small, or
    a title that a tag in brackets tells apart from others.
    """
    name = ((pl.col("words") == 1) & (pl.col("small") == 0)) | (pl.col("tagged") > 0)
    return pl.when((pl.col("capitals") > 1) | name).then("capitals").otherwise(0)
