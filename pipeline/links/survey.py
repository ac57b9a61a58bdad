"""What is known of a corpus as a whole before its links are looked for: how often each word is written and how, which
sentences recur, and a sketch of each document by which its versions are found.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from pipeline.links import sorted_tables as runs
from pipeline.links.sorted_tables import Columns
from pipeline.links.titles import written_small
from pipeline.links.tokens import U64, Ints, Words, mixed, phrases, words

SKETCH = 24
"""Numbers of a sketch. The share that two have in common is about that of the runs of three words in common."""
FEWEST = 4
"""Words of a sentence beside a phrase."""
GRAMS = (2, 3, 4)
"""How many words of a script without capital letters may be a name, or characters where no blanks part them."""
_AT_ONCE = 1 << 18
_FACTORS = mixed(np.arange(1, SKETCH + 1, dtype=np.uint64)) | np.uint64(1)
_NUMBER = np.uint64(0x4E756D626572)


def chunks(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Some texts at a time, with the number of the first."""
    first = held = 0
    for number, text in enumerate(texts, 1):
        held += len(text)
        if held > _AT_ONCE or number == len(texts):
            yield first, texts[first:number]
            first, held = number, 0


def survey(texts: Sequence[str], names: Columns) -> dict[str, pl.DataFrame]:
    """Tables of words, sorted by hash; of sentences, with the number of their text; of sketches; and of the
    texts' titles, which are given as `titles.named` makes them."""
    small = np.zeros(len(texts), np.uint8)
    found: dict[str, list[pl.DataFrame]] = {name: [] for name in ("words", "sentences", "sketches")}
    for first, some in chunks(texts):
        read = words(some)
        small[written_small(names, read, first)] = 1
        found["words"] += [_words(read), *(_grams(read, count) for count in GRAMS)]
        hashes, of = sentences(read)
        found["sentences"].append(pl.DataFrame({"hash": hashes, "row": (first + of).astype(np.uint32)}))
        found["sketches"].append(pl.DataFrame(_sketches(read, len(some))))
    tables = {name: pl.concat(rows) for name, rows in found.items()}
    counted = tables["words"].group_by("hash").sum().sort("hash")
    return tables | {"words": counted, "titles": pl.DataFrame(names | {"small": small})}


def _by_document(hashes: U64, document: Ints, **counted: Any) -> pl.DataFrame:
    """How many documents have each, and how often what is counted holds."""
    rows = pl.DataFrame({"hash": hashes, "document": document, **counted}).group_by("hash")
    return rows.agg(pl.col("document").n_unique().alias("documents"), *map(pl.sum, counted))


def _words(read: Words) -> pl.DataFrame:
    cased, hashes = read.cased, mixed(read.hash)
    alone = np.copy(read.capital)
    alone[:-1] &= ~(read.near & read.capital)[1:]
    small = cased & ~read.capital
    return _by_document(hashes, read.text, count=np.ones_like(cased), cased=cased, small=small, alone=alone)


def _grams(read: Words, count: int) -> pl.DataFrame:
    at = grams(read, count)
    hashes = phrases(read.hash, at, np.full(len(at), count))
    none = np.zeros(len(at), np.bool_)
    return _by_document(hashes, read.text[at], count=~none, cased=none, small=none, alone=none)


def grams(read: Words, count: int) -> Ints:
    """Where two words begin, of a script without capital letters; or more characters, of one without blanks."""
    plain = ~read.cased & ~read.single & (read.digits == 0) if count == 2 else read.single
    there = np.copy(plain)
    for step in range(1, count):
        there[:-step] &= plain[step:] & read.near[step:]
        there[-step:] = False
    return np.flatnonzero(there)


def sentences(read: Words) -> tuple[U64, Ints]:
    """The hash of each sentence of some length, whatever its numbers are, and its document."""
    first = np.flatnonzero(read.first)
    if not len(first):
        return np.empty(0, np.uint64), first
    hashes, count = sentence_hashes(read, first)
    long = count >= FEWEST
    return hashes[long], read.text[first[long]]


def sentence_hashes(read: Words, first: Ints) -> tuple[U64, Ints]:
    """Of all sentences, with how many words each has."""
    count = np.diff(np.append(first, len(read)))
    place = (np.arange(len(read)) - np.repeat(first, count)).astype(np.uint64)
    values = np.where(read.digits > 0, _NUMBER, read.hash)
    return mixed(np.add.reduceat(mixed(values + place), first)), count


def _sketches(read: Words, count: int) -> Columns:
    at = np.flatnonzero(read.text[:-2] == read.text[2:]) if len(read) > 2 else np.empty(0, np.int64)
    runs_of_three = phrases(read.hash, at, np.full(len(at), 3))
    of = read.text[at]
    first = runs.heads(of)
    columns = {}
    for number, factor in enumerate(_FACTORS):
        least = np.full(count, np.iinfo(np.uint32).max, np.uint32)
        if len(first):
            least[of[first]] = np.minimum.reduceat(((runs_of_three * factor) >> np.uint64(32)).astype(np.uint32), first)
        columns[f"least{number}"] = least
    return columns
