"""Of all phrases those that few documents hold, each with the passages that hold it.

Tables go from one order to another by ranges: by phrase, to count documents; by passage, to leave out what stands
within a longer phrase; by phrase again, to number them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from pipeline.corpus import parts
from pipeline.links import sorted_tables as runs
from pipeline.links.mentions import STATED, TITLE
from pipeline.links.sorted_tables import heads, spread
from pipeline.links.titles import KnownTitles
from pipeline.links.tokens import U64
from pipeline.store.files import atomic_file

_HOME = 8
"""Passages, at most, of a document that its title leads to."""
PHRASES = pa.schema([("hash", pa.uint64()), ("first", pa.uint64()), ("documents", pa.uint32()), ("kind", pa.uint8())])
MENTIONS = pa.schema([("place", pa.uint32()), ("start", pa.uint32()), ("end", pa.uint32()), ("home", pa.uint8())])
PASSAGES = pa.schema([("place", pa.uint32()), ("phrase", pa.uint32())])


class Collector:
    def __init__(self, folder: Path, ahead: Any, several: KnownTitles, group: Any, most: int) -> None:
        self._folder = folder
        self._ahead, self._group = ahead, group
        """Of each document the passages before it and the first of its versions."""
        self._several, self._most = several, most
        self._titles = runs.read(folder / "titles.arrow")

    def collect(self, found: Sequence[Path]) -> None:
        """Write the files of links from what was found in all parts."""
        few = self._written("few", "place", map(self._few, runs.ranges(found, "hash")))
        outer = self._written("outer", "hash", map(outermost, runs.ranges(few, "place")))
        numbered = self._written("numbered", "place", self._numbered(outer))
        with atomic_file(self._folder / "passages.arrow") as sink, pa.ipc.new_file(sink, PASSAGES) as writer:
            for table in runs.ranges(numbered, "place"):
                writer.write_batch(_batch(PASSAGES, table))

    def _written(self, name: str, key: str, tables: Iterator[pl.DataFrame]) -> list[Path]:
        paths = []
        for number, table in enumerate(tables):
            paths.append(self._folder / f"{name}-{number:05}.arrow")
            runs.write(paths[-1], table, key)
        return paths

    def _numbered(self, outer: Sequence[Path]) -> Iterator[pl.DataFrame]:
        """The phrases of each passage by their numbers, while the files of phrases and their mentions are written."""
        number = before = 0
        # Those of the document itself are of its title.
        away = pl.when(pl.col("home") > 0).then(STATED).otherwise(pl.col("kind")).min() == STATED
        kind = pl.when(away).then(STATED).otherwise(pl.min("kind")).cast(pl.UInt8).alias("kind")
        with (
            atomic_file(self._folder / "phrases.arrow") as sink, pa.ipc.new_file(sink, PHRASES) as phrases,
            atomic_file(self._folder / "mentions.arrow") as other, pa.ipc.new_file(other, MENTIONS) as mentions,
        ):  # fmt: skip
            for table in runs.ranges(outer, "hash"):
                rows = self._counted(table.sort("hash", "place", maintain_order=True))
                held = rows.with_row_index("first").group_by("hash", maintain_order=True)
                of = held.agg(pl.first("first").cast(pl.UInt64) + before, pl.first("documents"), kind)
                phrases.write_batch(_batch(PHRASES, of))
                mentions.write_batch(_batch(MENTIONS, rows))
                yield rows.select("place", phrase=pl.col("hash").rle_id() + number)
                number, before = number + len(of), before + len(rows)

    def _few(self, found: pl.DataFrame) -> pl.DataFrame:
        """Those of a range by phrase that few documents hold, two at least, versions counted as one; with the passages
        of the document that has it for a title; each passage once."""
        home = self._homes(found["hash"].to_numpy())
        clear = found.filter(~self._several.holds(found["hash"].to_numpy())).with_columns(home=pl.lit(0, pl.UInt8))
        rows = pl.concat([clear.select(home.columns), home])
        rows = rows.sort("hash", "place", pl.col("start") == 0, "start", maintain_order=True)
        titled = home.select("hash", "row", titled=pl.col("home")).unique()
        rows = rows.join(titled, on=["hash", "row"], how="left", maintain_order="left")
        rows = rows.with_columns(home=pl.max_horizontal("home", "titled")).drop("titled")
        return self._counted(rows.unique(["hash", "place"], keep="first", maintain_order=True))

    def _counted(self, rows: pl.DataFrame) -> pl.DataFrame:
        """With the number of `documents`, without those of one document and of too many."""
        versions = pl.Series("of", self._group[rows["row"].to_numpy()])
        rows = rows.with_columns(versions).with_columns(documents=pl.col("of").n_unique().over("hash")).drop("of")
        home = pl.col("home")
        few = pl.col("documents").is_between(2, home.max().over("hash").cast(pl.UInt32) + self._most)
        return rows.filter(few & (home.min().over("hash") == 0))

    def _homes(self, hashes: U64) -> pl.DataFrame:
        """The passages of the documents that have these phrases, which are sorted, for a title."""
        table = self._titles
        asked = hashes[heads(hashes)]
        left, right = (np.searchsorted(table["hash"], asked, side=side) for side in ("left", "right"))
        at = spread(left, right - left)
        row = table["row"][at].astype(np.int64)
        count = np.minimum(self._ahead[row + 1] - self._ahead[row], _HOME)
        total = int(count.sum())
        zeros = np.zeros(total, np.uint32)
        return pl.DataFrame({
            "hash": np.repeat(table["hash"][at], count), "row": np.repeat(row, count).astype(np.uint32),
            "place": spread(self._ahead[row], count).astype(np.uint32), "start": zeros, "end": zeros,
            "kind": np.full(total, TITLE, np.uint8), "home": np.ones(total, np.uint8),
        })  # fmt: skip


def outermost(rows: pl.DataFrame) -> pl.DataFrame:
    """Of a range by passage, without the phrases that stand within another of the same passage."""
    rows = rows.sort("place", "start", "end", descending=[False, False, True], maintain_order=True)
    reach = pl.col("end").cum_max().shift(fill_value=0).over("place")
    return rows.filter((reach < pl.col("end")) | (pl.col("end") == 0))


def _batch(schema: pa.Schema, table: pl.DataFrame) -> pa.RecordBatch:
    columns = [parts.numbers(table[name].to_numpy()) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
