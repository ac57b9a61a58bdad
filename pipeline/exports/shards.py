"""A writer of Parquet shards: it takes rows by view and split and writes numbered files.

Each shard has its view's schema and at least one row: one shard that is empty or has a guessed schema makes the whole
data set unreadable. Shards are written into a folder of `atomic_folder`, so no reader sees an incomplete one.
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
"""Rows of the first group, before the size of a row is known."""
SHARD_BYTES = 128 << 20
TOKEN_LIMITS = {"8k": 8_192, "16k": 16_384, "32k": 32_768}
"""Context lengths, by name. Each shard counts its rows that fit."""


class File(Data):
    """A file of the data set."""

    path: str
    """Relative to the folder of the data set."""
    bytes: int
    sha256: str


def describe_file(file: Path, path: str) -> File:
    return File(path=path, bytes=file.stat().st_size, sha256=checksum(file))


class ShardFile(File):
    """A Parquet file of one view and split."""

    view: str
    split: str
    rows: int
    within: tuple[int, ...] = ()
    """Number of rows within each of TOKEN_LIMITS; empty if the view has no column `tokens`."""


class ShardWriter(AbstractContextManager["ShardWriter"]):
    """The open shards of an export, by view and split. Leave its context before you remove the folder.

    One thread writes, a row group at a time: Arrow releases Python's lock while it encodes and compresses, so the next
    rows are built meanwhile. If a group cannot be written, the error is raised when the next one is full, or by
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
                schema = plain(schema) if self.as_text else schema
                writer = self._splits[view, split] = SplitWriter(self.folder / view, split, schema, self.shard_bytes)
            writer.group.append(row)
            if len(writer.group) >= writer.most:
                self._write(writer)

    def close(self) -> list[ShardFile]:
        for writer in self._splits.values():
            if writer.group:
                self._write(writer)
        self._wait()
        shards = (shard for writer in self._splits.values() for shard in writer.close())
        return sorted(shards, key=lambda shard: shard.path)

    def _write(self, writer: "SplitWriter") -> None:
        rows = writer.take()
        self._wait()
        self._writing = self._thread.submit(writer.write, rows)

    def _wait(self) -> None:
        """Wait until the last row group is written. Raise the error if that failed."""
        if self._writing:
            self._writing.result()


@dataclass
class SplitWriter:
    """The shards of one view and split. Their names hold their number, which is known only at the end.

    `rows`, `within`, `writer` and `written` belong to the writing thread until it is finished.
    """

    folder: Path
    split: str
    schema: pa.Schema
    shard_bytes: int
    most: int = field(default_factory=lambda: FIRST_ROWS)
    """Number of rows at which the next group is written."""
    group: list[dict[str, Any]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    within: list[tuple[int, ...]] = field(default_factory=list)
    writer: pq.ParquetWriter | None = None
    written: int = 0

    def take(self) -> pa.Table:
        """Return the group as a table, and start a new group.

        All rows are converted in one call, since a call of Arrow costs as much as many rows.
        """
        rows = table(self.group, self.schema)
        # The size of the next group is estimated from this one: measuring a row takes as long as converting it.
        self.most = min(GROUP_ROWS, max(1, GROUP_BYTES * rows.num_rows // rows.get_total_buffer_size()))
        self.group = []
        return rows

    def write(self, rows: pa.Table) -> None:
        """Write a row group, or several if its rows are larger than expected. Close the shard once it is large enough.

        Sizes are those before compression.
        """
        if self.writer is None:
            self.folder.mkdir(exist_ok=True)
            self.writer = parquet_writer(self.part(len(self.rows)), self.schema)
            self.rows.append(0)
            self.within.append(())
        groups = max(1, rows.get_total_buffer_size() // GROUP_BYTES)
        self.writer.write_table(rows, row_group_size=-(-rows.num_rows // groups))
        self.rows[-1] += rows.num_rows
        if "tokens" in rows.schema.names:
            counts = _rows_within(rows["tokens"])
            self.within[-1] = tuple(map(sum, zip(self.within[-1], counts, strict=True))) if self.within[-1] else counts
        self.written += rows.get_total_buffer_size()
        if self.written >= self.shard_bytes:
            self.end()

    def end(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer, self.written = None, 0

    def close(self) -> Iterable[ShardFile]:
        self.end()
        for number, (rows, within) in enumerate(zip(self.rows, self.within, strict=True)):
            name = f"{self.split}-{number:05d}-of-{len(self.rows):05d}.parquet"
            file = describe_file(self.part(number).rename(self.folder / name), f"{self.folder.name}/{name}")
            yield ShardFile(view=self.folder.name, split=self.split, rows=rows, within=within, **file.model_dump())

    def part(self, number: int) -> Path:
        return self.folder / f"{self.split}.{number}.part"


def _rows_within(tokens: pa.ChunkedArray) -> tuple[int, ...]:
    return tuple(pc.sum(pc.less_equal(tokens, limit)).as_py() or 0 for limit in TOKEN_LIMITS.values())
