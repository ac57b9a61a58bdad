"""The file `seeds.parquet`: an export writes it a row group at a time, and everything that shows figures reads it."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.analysis.seed_rows import SCHEMA, Row
from pipeline.store.arrow import parquet_writer, table
from pipeline.store.files import utf8_path
from pipeline.store.tables import scan_parquet

NAME = "seeds.parquet"
GROUP_ROWS = 1000


def frame(rows: Iterable[Row]) -> pl.LazyFrame:
    """Return a table of rows that are not in a file, such as those of an unfinished run."""
    remaining = iter(rows)
    groups = iter(lambda: list(islice(remaining, GROUP_ROWS)), [])
    empty = pa.Table.from_batches([], schema=SCHEMA)
    return pl.DataFrame(pa.concat_tables([empty, *(table(group, SCHEMA) for group in groups)])).lazy()


class SeedTable:
    """Writer of the file. It writes a row group at a time. Leave its context before you remove the folder."""

    def __init__(self, path: Path, source: str) -> None:
        """Prepare the writer. `source` is a digest of everything that the rows depend on; see `scan_current`."""
        self._path, self._schema = path, SCHEMA.with_metadata({"source": source})
        self._waiting: list[Row] = []
        self._sorted, self._last = True, ""

    def __enter__(self) -> Self:
        self._writer = parquet_writer(self._path, self._schema)
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def add(self, row: Row) -> None:
        order = row["plan_order"] or ""
        self._sorted, self._last = self._sorted and self._last <= order, order
        self._waiting.append(row)
        if len(self._waiting) == GROUP_ROWS:
            self._flush()

    def close(self) -> pl.LazyFrame:
        """Finish the file, sorted in the order of the plan, and return its table."""
        self._flush()
        self._writer.close()
        if not self._sorted:
            # Included rejected seeds come last. The table fits into memory; it is far smaller than the records.
            rows = pq.read_table(utf8_path(self._path)).sort_by("plan_order")
            with parquet_writer(self._path, self._schema) as writer:
                writer.write(rows, row_group_size=GROUP_ROWS)
        return scan_parquet(self._path)

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write(table(self._waiting, SCHEMA))
            self._waiting = []


def scan_current(path: Path, source: str | None = None) -> pl.LazyFrame | None:
    """Return the table at `path`, or None if it is missing, of another version, or not made from `source`.

    Without `source`, the table may be made from any state of the run.
    """
    try:
        schema = pq.read_schema(utf8_path(path))
    except (OSError, pa.ArrowInvalid):
        return None
    is_same_source = source is None or (schema.metadata or {}).get(b"source") == source.encode()
    return scan_parquet(path) if schema.equals(SCHEMA) and is_same_source else None
