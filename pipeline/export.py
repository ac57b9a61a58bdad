"""Records → shards, environment, card and manifest: one folder that trainers load as it is.

A pure function of the records and settings: the same journal gives the same shards, byte for byte. Every shard has the
view's own schema and at least one row, since an empty one makes the whole set unreadable. The folder is built aside
and takes its place when all of it is there, with the manifest written last.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.agents.environment import environment
from pipeline.config import RunConfig
from pipeline.errors import UsageError
from pipeline.report.card import Contents, card
from pipeline.report.figures import Outside
from pipeline.report.tally import Tally
from pipeline.store.files import atomic_folder, atomic_write, write_json
from pipeline.types import Data, Draft, Record
from pipeline.views import base

# Readers choke on large nested row groups ("Nested data conversions not implemented for chunked array outputs").
GROUP_ROWS = 500
GROUP_BYTES = 4 << 20
SHARD_BYTES = 128 << 20


class Shard(Data):
    """One file of the data set."""

    path: str
    """In the folder of the data set."""
    view: str
    split: str
    rows: int
    bytes: int
    sha256: str


class Manifest(Data):
    """What a finished data set holds."""

    run: str
    records: int
    """All that were read, taken or not."""
    include: tuple[str, ...]
    views: tuple[str, ...]
    """All that were asked for; one without rows has no shard."""
    shards: tuple[Shard, ...]

    def rows(self) -> dict[str, dict[str, int]]:
        """By view, then split, the one to train on first."""
        counts: dict[str, dict[str, int]] = {}
        for shard in sorted(self.shards, key=lambda shard: (shard.view, shard.split != "train")):
            splits = counts.setdefault(shard.view, {})
            splits[shard.split] = splits.get(shard.split, 0) + shard.rows
        return counts


class Selection(Data):
    """What to export."""

    config: RunConfig
    views: tuple[str, ...] = ()
    """None named: all."""
    include: tuple[str, ...] = ()
    outside: Outside = Outside()
    shard_bytes: int = SHARD_BYTES


def export(records: Iterable[Record], folder: Path, chosen: Selection) -> Manifest:
    """Write the data set of `records`, which come in the order of the plan, to `folder`, replacing what was there.

    One record is held at a time, and one row group per view and split.
    """
    unknown = set(chosen.include) - set(base.INCLUDES)
    if unknown:
        raise UsageError(f"cannot include '{min(unknown)}'; known: {', '.join(base.INCLUDES)}")
    views = {name: base.load(name) for name in chosen.views or base.names()}
    site, tally, example = environment(chosen.config), Tally(), None
    with atomic_folder(folder) as building:
        shelf = Shelf(building, chosen.shard_bytes)
        for record in records:
            tally.add(record)
            if not base.taken(record, chosen.include):
                continue
            example = example or record.draft
            for name, view in views.items():
                shelf.add(name, record.seed.side, view.SCHEMA, list(view.rows(record, site)))
        manifest = Manifest(
            run=tally.lineage.run if tally.lineage else "",
            records=tally.status.total(),
            include=chosen.include,
            views=tuple(views),
            shards=tuple(shelf.close()),
        )
        _describe(building, manifest, tally, example, chosen)
    return manifest


def _describe(building: Path, manifest: Manifest, tally: Tally, example: Draft | None, chosen: Selection) -> None:
    """Environment and card, then the manifest."""
    write_json(building / "environment.json", environment(chosen.config).model_dump(mode="json"))
    contents = Contents(rows=manifest.rows(), include=chosen.include, example=example)
    text = card(tally.figures(chosen.outside), contents, chosen.config)
    atomic_write(building / "README.md", text.encode())
    write_json(building / "manifest.json", manifest.model_dump(mode="json"))


class Shelf:
    """All open shards, by view and split."""

    def __init__(self, folder: Path, shard_bytes: int) -> None:
        self.folder = folder
        self.shard_bytes = shard_bytes
        self.series: dict[tuple[str, str], Series] = {}

    def add(self, view: str, split: str, schema: pa.Schema, rows: list[dict[str, Any]]) -> None:
        if rows:
            series = self.series.setdefault((view, split), Series(self.folder / view, split, schema, self.shard_bytes))
            series.add(pa.Table.from_pylist(rows, schema=schema))

    def close(self) -> list[Shard]:
        """Finish all files, give them their final names, and list them in the order of their paths."""
        shards = [shard for (view, split), series in self.series.items() for shard in series.close(view, split)]
        return sorted(shards, key=lambda shard: shard.path)


@dataclass
class Series:
    """The shards of one view and split. Their number is known only at the end, and so are their names."""

    folder: Path
    split: str
    schema: pa.Schema
    shard_bytes: int
    group: list[pa.Table] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    writer: pq.ParquetWriter | None = None
    held: int = 0
    """Bytes in `group`."""
    written: int = 0

    def add(self, table: pa.Table) -> None:
        self.group.append(table)
        self.held += table.nbytes
        if sum(t.num_rows for t in self.group) >= GROUP_ROWS or self.held >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the row group, and end the shard where it is large enough. Its size is that before compression."""
        if not self.group:
            return
        table = pa.concat_tables(self.group).combine_chunks()
        self.group, self.held = [], 0
        if self.writer is None:
            self.folder.mkdir(exist_ok=True)
            self.writer = pq.ParquetWriter(self.part(len(self.rows)), self.schema, compression="zstd")
            self.rows.append(0)
        self.writer.write_table(table, row_group_size=table.num_rows)
        self.rows[-1] += table.num_rows
        self.written += table.nbytes
        if self.written >= self.shard_bytes:
            self.end()

    def end(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer, self.written = None, 0

    def close(self, view: str, split: str) -> Iterable[Shard]:
        self.flush()
        self.end()
        for number, rows in enumerate(self.rows):
            name = f"{split}-{number:05d}-of-{len(self.rows):05d}.parquet"
            path = self.part(number).rename(self.folder / name)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            yield Shard(
                path=f"{view}/{name}", view=view, split=split, rows=rows, bytes=path.stat().st_size, sha256=digest
            )

    def part(self, number: int) -> Path:
        return self.folder / f"{self.split}.{number}.part"
