"""Survey the whole corpus before links are searched.

The survey counts how often each word is written and how, and which sentences recur. It sketches each document, so that
versions of a document can be recognised.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from pipeline.links import sorted_tables as runs
from pipeline.links.sorted_tables import Columns
from pipeline.links.titles import find_small_titles
from pipeline.links.tokens import U64, Ints, Words, mix_bits, phrases, words

SKETCH = 24
"""Numbers of a sketch. Two sketches share about the same fraction of numbers as their texts share word triples."""
FEWEST = 4
"""Fewest words that a sentence must have besides a phrase."""
GRAMS = (2, 3, 4)
"""Lengths of names in scripts without capitals: in words, or in characters if there are no blanks."""
_AT_ONCE = 1 << 18
_FACTORS = mix_bits(np.arange(1, SKETCH + 1, dtype=np.uint64)) | np.uint64(1)
_NUMBER = np.uint64(0x4E756D626572)


def chunks(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield a few texts at a time, with the index of the first."""
    first = size = 0
    for end, text in enumerate(texts, 1):
        size += len(text)
        if size > _AT_ONCE or end == len(texts):
            yield first, texts[first:end]
            first, size = end, 0


def survey(texts: Sequence[str], names: Columns) -> dict[str, pl.DataFrame]:
    """Return tables of words (sorted by hash), of sentences with their texts, of sketches, and of titles.

    `names` are the titles of the texts, as `titles.hash_names` returns them.
    """
    small = np.zeros(len(texts), np.uint8)
    tables_by_name: dict[str, list[pl.DataFrame]] = {name: [] for name in ("words", "sentences", "sketches")}
    for first, chunk in chunks(texts):
        tokens = words(chunk)
        small[find_small_titles(names, tokens, first)] = 1
        tables_by_name["words"] += [_count_words(tokens), *(_count_grams(tokens, count) for count in GRAMS)]
        hashes, sentence_texts = hash_sentences(tokens)
        tables_by_name["sentences"].append(
            pl.DataFrame({"hash": hashes, "row": (first + sentence_texts).astype(np.uint32)})
        )
        tables_by_name["sketches"].append(pl.DataFrame(_sketch_texts(tokens, len(chunk))))
    tables = {name: pl.concat(rows) for name, rows in tables_by_name.items()}
    word_counts = tables["words"].group_by("hash").sum().sort("hash")
    return tables | {"words": word_counts, "titles": pl.DataFrame(names | {"small": small})}


def _count_documents(hashes: U64, document: Ints, **sums: Any) -> pl.DataFrame:
    rows = pl.DataFrame({"hash": hashes, "document": document, **sums}).group_by("hash")
    return rows.agg(pl.col("document").n_unique().alias("documents"), *map(pl.sum, sums))


def _count_words(tokens: Words) -> pl.DataFrame:
    cased, hashes = tokens.cased, mix_bits(tokens.hash)
    alone = np.copy(tokens.capital)
    alone[:-1] &= ~(tokens.near & tokens.capital)[1:]
    small = cased & ~tokens.capital
    return _count_documents(hashes, tokens.text, count=np.ones_like(cased), cased=cased, small=small, alone=alone)


def _count_grams(tokens: Words, count: int) -> pl.DataFrame:
    starts = find_grams(tokens, count)
    hashes = phrases(tokens.hash, starts, np.full(len(starts), count))
    none = np.zeros(len(starts), np.bool_)
    return _count_documents(hashes, tokens.text[starts], count=~none, cased=none, small=none, alone=none)


def find_grams(tokens: Words, count: int) -> Ints:
    """Return the starts of word pairs, or of longer character sequences.

    Word pairs are for scripts without capitals, character sequences for scripts without blanks.
    """
    plain = ~tokens.cased & ~tokens.single & (tokens.digits == 0) if count == 2 else tokens.single
    is_start = np.copy(plain)
    for step in range(1, count):
        is_start[:-step] &= plain[step:] & tokens.near[step:]
        is_start[-step:] = False
    return np.flatnonzero(is_start)


def hash_sentences(tokens: Words) -> tuple[U64, Ints]:
    """Return the hash and the text of each sentence that is long enough. Numbers do not affect the hash."""
    first = np.flatnonzero(tokens.first)
    if not len(first):
        return np.empty(0, np.uint64), first
    hashes, count = hash_all_sentences(tokens, first)
    long = count >= FEWEST
    return hashes[long], tokens.text[first[long]]


def hash_all_sentences(tokens: Words, first: Ints) -> tuple[U64, Ints]:
    count = np.diff(np.append(first, len(tokens)))
    position = (np.arange(len(tokens)) - np.repeat(first, count)).astype(np.uint64)
    values = np.where(tokens.digits > 0, _NUMBER, tokens.hash)
    return mix_bits(np.add.reduceat(mix_bits(values + position), first)), count


def _sketch_texts(tokens: Words, count: int) -> Columns:
    starts = np.flatnonzero(tokens.text[:-2] == tokens.text[2:]) if len(tokens) > 2 else np.empty(0, np.int64)
    runs_of_three = phrases(tokens.hash, starts, np.full(len(starts), 3))
    text = tokens.text[starts]
    first = runs.heads(text)
    columns = {}
    for index, factor in enumerate(_FACTORS):
        least = np.full(count, np.iinfo(np.uint32).max, np.uint32)
        if len(first):
            least[text[first]] = np.minimum.reduceat(
                ((runs_of_three * factor) >> np.uint64(32)).astype(np.uint32), first
            )
        columns[f"least{index}"] = least
    return columns
