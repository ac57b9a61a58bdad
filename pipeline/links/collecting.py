"""Select the phrases that few documents contain, each with its passages.

Tables are sorted three times, in ranges: by phrase, to count documents; by passage, to drop phrases within a longer
phrase; and by phrase again, to number them.
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
"""Most passages of a document that a mention of its title leads to."""
PHRASES = pa.schema([("hash", pa.uint64()), ("first", pa.uint64()), ("documents", pa.uint32()), ("kind", pa.uint8())])
MENTIONS = pa.schema([("place", pa.uint32()), ("start", pa.uint32()), ("end", pa.uint32()), ("home", pa.uint8())])
PASSAGES = pa.schema([("place", pa.uint32()), ("phrase", pa.uint32())])


class Collector:
    """Select the phrases that link documents, and write them with their passages."""

    def __init__(self, folder: Path, ahead: Any, ambiguous: KnownTitles, group: Any, most: int) -> None:
        self._folder = folder
        self._ahead, self._group = ahead, group
        """For each document, the number of passages before it, and the first of its versions."""
        self._ambiguous, self._most_documents = ambiguous, most
        self._titles = runs.read(folder / "titles.arrow")

    def collect(self, phrase_files: Sequence[Path]) -> None:
        selected = self._write_tables("few", "place", map(self._select_phrases, runs.ranges(phrase_files, "hash")))
        outermost_files = self._write_tables("outer", "hash", map(drop_nested, runs.ranges(selected, "place")))
        numbered_files = self._write_tables("numbered", "place", self._number_phrases(outermost_files))
        with atomic_file(self._folder / "passages.arrow") as sink, pa.ipc.new_file(sink, PASSAGES) as writer:
            for table in runs.ranges(numbered_files, "place"):
                writer.write_batch(_build_batch(PASSAGES, table))

    def _write_tables(self, name: str, key: str, tables: Iterator[pl.DataFrame]) -> list[Path]:
        paths = []
        for number, table in enumerate(tables):
            paths.append(self._folder / f"{name}-{number:05}.arrow")
            runs.write(paths[-1], table, key)
        return paths

    def _number_phrases(self, outer: Sequence[Path]) -> Iterator[pl.DataFrame]:
        """Yield the phrase numbers of each passage, while writing the files of phrases and mentions."""
        number = before = 0
        # Passages of the titled document itself do not count as stated links.
        is_stated = pl.when(pl.col("home") > 0).then(STATED).otherwise(pl.col("kind")).min() == STATED
        kind = pl.when(is_stated).then(STATED).otherwise(pl.min("kind")).cast(pl.UInt8).alias("kind")
        with (
            atomic_file(self._folder / "phrases.arrow") as sink, pa.ipc.new_file(sink, PHRASES) as phrases,
            atomic_file(self._folder / "mentions.arrow") as target, pa.ipc.new_file(target, MENTIONS) as mentions,
        ):  # fmt: skip
            for table in runs.ranges(outer, "hash"):
                rows = self._count_documents(table.sort("hash", "place", maintain_order=True))
                grouped = rows.with_row_index("first").group_by("hash", maintain_order=True)
                table_phrases = grouped.agg(pl.first("first").cast(pl.UInt64) + before, pl.first("documents"), kind)
                phrases.write_batch(_build_batch(PHRASES, table_phrases))
                mentions.write_batch(_build_batch(MENTIONS, rows))
                yield rows.select("place", phrase=pl.col("hash").rle_id() + number)
                number, before = number + len(table_phrases), before + len(rows)

    def _select_phrases(self, mentions: pl.DataFrame) -> pl.DataFrame:
        """Keep the phrases that few documents contain, but at least two (versions count as one).

        Adds the passages of the document whose title the phrase is. Each passage occurs once per phrase.
        """
        title_rows = self._find_title_passages(mentions["hash"].to_numpy())
        unambiguous = mentions.filter(~self._ambiguous.holds(mentions["hash"].to_numpy())).with_columns(
            home=pl.lit(0, pl.UInt8)
        )
        rows = pl.concat([unambiguous.select(title_rows.columns), title_rows])
        rows = rows.sort("hash", "place", pl.col("start") == 0, "start", maintain_order=True)
        titled_documents = title_rows.select("hash", "row", titled=pl.col("home")).unique()
        rows = rows.join(titled_documents, on=["hash", "row"], how="left", maintain_order="left")
        rows = rows.with_columns(home=pl.max_horizontal("home", "titled")).drop("titled")
        return self._count_documents(rows.unique(["hash", "place"], keep="first", maintain_order=True))

    def _count_documents(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the number of `documents`, and drop phrases of a single document or of too many."""
        versions = pl.Series("of", self._group[rows["row"].to_numpy()])
        rows = rows.with_columns(versions).with_columns(documents=pl.col("of").n_unique().over("hash")).drop("of")
        home = pl.col("home")
        few = pl.col("documents").is_between(2, home.max().over("hash").cast(pl.UInt32) + self._most_documents)
        return rows.filter(few & (home.min().over("hash") == 0))

    def _find_title_passages(self, hashes: U64) -> pl.DataFrame:
        """Return the passages of the documents whose titles are these phrases. The hashes must be sorted."""
        table = self._titles
        distinct = hashes[heads(hashes)]
        left, right = (np.searchsorted(table["hash"], distinct, side=side) for side in ("left", "right"))
        title_rows = spread(left, right - left)
        row = table["row"][title_rows].astype(np.int64)
        count = np.minimum(self._ahead[row + 1] - self._ahead[row], _HOME)
        total = int(count.sum())
        zeros = np.zeros(total, np.uint32)
        return pl.DataFrame({
            "hash": np.repeat(table["hash"][title_rows], count), "row": np.repeat(row, count).astype(np.uint32),
            "place": spread(self._ahead[row], count).astype(np.uint32), "start": zeros, "end": zeros,
            "kind": np.full(total, TITLE, np.uint8), "home": np.ones(total, np.uint8),
        })  # fmt: skip


def drop_nested(rows: pl.DataFrame) -> pl.DataFrame:
    rows = rows.sort("place", "start", "end", descending=[False, False, True], maintain_order=True)
    reach = pl.col("end").cum_max().shift(fill_value=0).over("place")
    return rows.filter((reach < pl.col("end")) | (pl.col("end") == 0))


def _build_batch(schema: pa.Schema, table: pl.DataFrame) -> pa.RecordBatch:
    columns = [parts.numbers(table[name].to_numpy()) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
