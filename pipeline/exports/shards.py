"""Parquet shards: rows in, by view and split; numbered files out, each with its own schema and at least one row.

An empty shard, or one whose schema was guessed, makes a whole data set unreadable. Files are written inside a folder
that `atomic_folder` gives, so none of them stands under a final name before it is complete.
"""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.store.arrow import parquet_writer, plain, table
from pipeline.store.files import checksum
from pipeline.types import Data

# Readers choke on large nested row groups ("Nested data conversions not implemented for chunked array outputs").
GROUP_ROWS = 500
GROUP_BYTES = 4 << 20
FIRST_ROWS = 16
"""Of a first group, when nothing is known of how large rows are."""
SHARD_BYTES = 128 << 20


TOKEN_LIMITS = {"8k": 8_192, "16k": 16_384, "32k": 32_768}
"""Context lengths, by name, for which rows are counted."""


class File(Data):
    """One file of the data set."""

    path: str
    """In the folder of the data set."""
    bytes: int
    sha256: str


def described(file: Path, path: str) -> File:
    """The file, as the one that stands at `path` of the data set."""
    return File(path=path, bytes=file.stat().st_size, sha256=checksum(file))


class ShardFile(File):
    """One Parquet file of a view."""

    view: str
    split: str
    rows: int
    within: tuple[int, ...] = ()
    """Rows within each of TOKEN_LIMITS; empty if the view has no column `tokens`."""


class ShardWriter(AbstractContextManager["ShardWriter"]):
    """All open shards, by view and split. Leave its context before its folder is given up: then nothing writes there.

    One thread writes, a row group at a time: Arrow releases Python's lock while it encodes and compresses, so that the
    next rows are made meanwhile. A group that could not be written raises its error when the next one is full, or on
    `close`.
    """

    def __init__(self, folder: Path, shard_bytes: int, *, as_text: bool = False) -> None:
        self.folder, self.shard_bytes, self.as_text = folder, shard_bytes, as_text
        self._splits: dict[tuple[str, str], SplitWriter] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="shards")
        self._writing: Future[None] | None = None

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()

    def add(self, view: str, split: str, schema: pa.Schema, rows: Iterable[dict[str, Any]]) -> None:
        writer = self._splits.get((view, split))
        for row in rows:
            if writer is None:
                kept = plain(schema) if self.as_text else schema
                writer = self._splits[view, split] = SplitWriter(self.folder / view, split, kept, self.shard_bytes)
            writer.group.append(row)
            if len(writer.group) >= writer.most:
                self._write(writer)

    def close(self) -> list[ShardFile]:
        """Finish all files, give them their final names, and list them in the order of their paths."""
        for writer in self._splits.values():
            if writer.group:
                self._write(writer)
        self._wait()
        shards = (shard for writer in self._splits.values() for shard in writer.close())
        return sorted(shards, key=lambda shard: shard.path)

    def _write(self, writer: "SplitWriter") -> None:
        """Have the row group written, once the one before is."""
        made = writer.take()
        self._wait()
        self._writing = self._thread.submit(writer.write, made)

    def _wait(self) -> None:
        """Until nothing is being written. Raises what stopped it."""
        if self._writing:
            self._writing.result()


@dataclass
class SplitWriter:
    """The shards of one view and split. Their number is known only at the end, and so are their names.

    `rows`, `within`, `writer` and `written` belong to the thread that writes, until it has been waited for.
    """

    folder: Path
    split: str
    schema: pa.Schema
    shard_bytes: int
    most: int = field(default_factory=lambda: FIRST_ROWS)
    """Rows that the next group is to have."""
    group: list[dict[str, Any]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    within: list[tuple[int, ...]] = field(default_factory=list)
    writer: pq.ParquetWriter | None = None
    written: int = 0

    def take(self) -> pa.Table:
        """The group as a table: one conversion, since Arrow's own cost for a call is that of many rows."""
        made = table(self.group, self.schema)
        # As many as would have filled this one: measuring every row takes as long as converting it.
        self.most = min(GROUP_ROWS, max(1, GROUP_BYTES * made.num_rows // made.get_total_buffer_size()))
        self.group = []
        return made

    def write(self, made: pa.Table) -> None:
        """One row group, or several where rows were larger than those before; the shard ends where it is large enough.
        Sizes are those before compression.
        """
        if self.writer is None:
            self.folder.mkdir(exist_ok=True)
            self.writer = parquet_writer(self.part(len(self.rows)), self.schema)
            self.rows.append(0)
            self.within.append(())
        groups = max(1, made.get_total_buffer_size() // GROUP_BYTES)
        self.writer.write_table(made, row_group_size=-(-made.num_rows // groups))
        self.rows[-1] += made.num_rows
        if "tokens" in made.schema.names:
            counts = _rows_within(made["tokens"])
            self.within[-1] = tuple(map(sum, zip(self.within[-1], counts, strict=True))) if self.within[-1] else counts
        self.written += made.get_total_buffer_size()
        if self.written >= self.shard_bytes:
            self.end()

    def end(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer, self.written = None, 0

    def close(self) -> Iterable[ShardFile]:
        """Once all is written: the shards under their final names."""
        self.end()
        for number, (rows, within) in enumerate(zip(self.rows, self.within, strict=True)):
            name = f"{self.split}-{number:05d}-of-{len(self.rows):05d}.parquet"
            file = described(self.part(number).rename(self.folder / name), f"{self.folder.name}/{name}")
            yield ShardFile(view=self.folder.name, split=self.split, rows=rows, within=within, **file.model_dump())

    def part(self, number: int) -> Path:
        return self.folder / f"{self.split}.{number}.part"


def _rows_within(tokens: pa.ChunkedArray) -> tuple[int, ...]:
    return tuple(pc.sum(pc.less_equal(tokens, most)).as_py() or 0 for most in TOKEN_LIMITS.values())
