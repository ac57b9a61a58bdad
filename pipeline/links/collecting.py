"""Of all phrases those that few documents hold, each with the passages that hold it.

Tables go from one order to another by ranges: by phrase, to count documents; by passage, to leave out what stands
within a longer phrase; by phrase again, to number them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.corpus import parts
from pipeline.links import sorted_tables as runs
from pipeline.links.mentions import STATED, TITLE
from pipeline.links.sorted_tables import Columns, heads, spread
from pipeline.links.titles import KnownTitles
from pipeline.links.tokens import U64
from pipeline.store.files import atomic_file

_HOME = 8
"""Passages, at most, of a document that its title leads to."""
PHRASES = pa.schema([("hash", pa.uint64()), ("first", pa.uint64()), ("documents", pa.uint32()), ("kind", pa.uint8())])
MENTIONS = pa.schema([("place", pa.uint32()), ("start", pa.uint32()), ("end", pa.uint32()), ("home", pa.uint8())])
PASSAGES = pa.schema([("place", pa.uint32()), ("phrase", pa.uint32())])


class Collector:
    def __init__(self, folder: Path, ahead: Any, several: U64, group: Any, most: int) -> None:
        self._folder = folder
        self._ahead, self._group = ahead, group
        """Of each document the passages before it and the first of its versions."""
        self._several, self._most = KnownTitles(several), most
        self._titles = runs.read(folder / "titles.arrow")

    def collect(self, found: Sequence[Path]) -> None:
        """Write the files of links from what was found in all parts."""
        few = self._written("few", "place", (self._few(table) for table in runs.ranges(found, "hash")))
        outer = self._written("outer", "hash", map(outermost, runs.ranges(few, "place")))
        numbered = self._written("numbered", "place", self._numbered(outer))
        with atomic_file(self._folder / "passages.arrow") as sink, pa.ipc.new_file(sink, PASSAGES) as writer:
            for table in runs.ranges(numbered, "place"):
                writer.write_batch(_batch(PASSAGES, **table))

    def _written(self, name: str, key: str, tables: Iterator[Columns]) -> list[Path]:
        paths = []
        for number, table in enumerate(tables):
            paths.append(self._folder / f"{name}-{number:05}.arrow")
            runs.write(paths[-1], table, key)
        return paths

    def _numbered(self, outer: Sequence[Path]) -> Iterator[Columns]:
        """The phrases of each passage by their numbers, while the files of phrases and their mentions are written."""
        number = before = 0
        with (
            atomic_file(self._folder / "phrases.arrow") as sink, pa.ipc.new_file(sink, PHRASES) as phrases,
            atomic_file(self._folder / "mentions.arrow") as other, pa.ipc.new_file(other, MENTIONS) as mentions,
        ):  # fmt: skip
            for table in runs.ranges(outer, "hash"):
                order = np.lexsort((table["place"], table["hash"]))
                rows = self._counted({name: table[name][order] for name in table if name != "documents"})
                at = heads(rows["hash"])
                kind = np.minimum.reduceat(rows["kind"], at) if len(at) else rows["kind"]
                if len(at):
                    # Those of the document itself are of its title.
                    away = np.minimum.reduceat(np.where(rows["home"], STATED, rows["kind"]), at)
                    kind = np.where(away == STATED, STATED, kind).astype(np.uint8)
                first = (at + before).astype(np.uint64)
                counts = {"documents": rows["documents"][at], "kind": kind}
                phrases.write_batch(_batch(PHRASES, hash=rows["hash"][at], first=first, **counts))
                mentions.write_batch(_batch(MENTIONS, **rows))
                of = np.repeat(np.arange(number, number + len(at)), np.diff(np.append(at, len(rows["hash"]))))
                yield {"place": rows["place"], "phrase": of.astype(np.uint32)}
                number, before = number + len(at), before + len(rows["hash"])

    def _few(self, found: Columns) -> Columns:
        """Those of a range by phrase that few documents hold, two at least, versions counted as one; with the passages
        of the document that has it for a title; each passage once."""
        found = {name: values[~self._several.holds(found["hash"])] for name, values in found.items()}
        found |= {"home": np.zeros(len(found["hash"]), np.uint8)}
        home = self._homes(found["hash"])
        rows = {name: np.concatenate([found[name], home[name]]) for name in found}
        order = np.lexsort((rows["start"], rows["start"] == 0, rows["place"], rows["hash"]))
        rows = {name: values[order] for name, values in rows.items()}
        at_home = KnownTitles(np.sort(_pairs(home)))
        rows["home"] |= at_home.holds(_pairs(rows)).astype(np.uint8)
        again = np.zeros(len(order), np.bool_)
        again[1:] = (rows["hash"][1:] == rows["hash"][:-1]) & (rows["place"][1:] == rows["place"][:-1])
        return self._counted({name: values[~again] for name, values in rows.items()})

    def _counted(self, rows: Columns) -> Columns:
        """With the number of `documents`, without those of one document and of too many."""
        at = heads(rows["hash"])
        if not len(at):
            return rows | {"documents": np.empty(0, np.uint32)}
        phrase = np.repeat(np.arange(len(at)), np.diff(np.append(at, len(rows["hash"]))))
        pairs = np.sort((phrase.astype(np.uint64) << np.uint64(32)) + self._group[rows["row"]])
        documents = np.bincount((pairs[heads(pairs)] >> np.uint64(32)).astype(np.int64), minlength=len(at))
        titled = np.maximum.reduceat(rows["home"], at)
        good = (documents >= 2) & (documents <= self._most + titled)
        good &= np.minimum.reduceat(rows["home"], at) == 0
        rows = rows | {"documents": documents[phrase].astype(np.uint32)}
        return {name: values[good[phrase]] for name, values in rows.items()}

    def _homes(self, hashes: U64) -> Columns:
        """The passages of the documents that have these phrases, which are sorted, for a title."""
        table = self._titles
        asked = hashes[heads(hashes)]
        left, right = (np.searchsorted(table["hash"], asked, side=side) for side in ("left", "right"))
        at = spread(left, right - left)
        row = table["row"][at].astype(np.int64)
        count = np.minimum(self._ahead[row + 1] - self._ahead[row], _HOME)
        total = int(count.sum())
        zeros = np.zeros(total, np.uint32)
        return {
            "hash": np.repeat(table["hash"][at], count), "row": np.repeat(row, count).astype(np.uint32),
            "place": spread(self._ahead[row], count).astype(np.uint32), "start": zeros, "end": zeros,
            "kind": np.full(total, TITLE, np.uint8), "home": np.ones(total, np.uint8),
        }  # fmt: skip


def _pairs(rows: Columns) -> Any:
    return rows["hash"] ^ (rows["row"].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def outermost(rows: Columns) -> Columns:
    """Of a range by passage, without the phrases that stand within another of the same passage."""
    order = np.lexsort((-rows["end"].astype(np.int64), rows["start"], rows["place"]))
    rows = {name: values[order] for name, values in rows.items()}
    # All earlier ends of the passage, which no other's can exceed by as much as its place does.
    reach = (rows["place"].astype(np.uint64) << np.uint64(32)) + rows["end"]
    before = np.concatenate([[np.uint64(0)], np.maximum.accumulate(reach)[:-1]]) if len(reach) else reach
    within = (before >= reach) & (rows["end"] > 0)
    return {name: values[~within] for name, values in rows.items()}


def _batch(schema: pa.Schema, **columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([parts.numbers(columns[name]) for name in schema.names], schema=schema)
