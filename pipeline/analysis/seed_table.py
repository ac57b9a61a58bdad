"""The file of `seeds.parquet`: written by an export a row group at a time, read by all that shows figures."""

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
    """The table of rows that are written nowhere, such as those of a run that goes on."""
    waiting = iter(rows)
    groups = iter(lambda: list(islice(waiting, GROUP_ROWS)), [])
    made = pa.concat_tables([pa.Table.from_batches([], schema=SCHEMA), *(table(group, SCHEMA) for group in groups)])
    return pl.DataFrame(made).lazy()


class SeedTable:
    """Writes the file, a row group at a time; leave its context before the folder of the file is given up."""

    def __init__(self, path: Path, source: str) -> None:
        """`source` is a digest of all that the rows were made from; see `current`."""
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
        """The finished file."""
        self._flush()
        self._writer.close()
        if not self._sorted:
            # Rejected seeds that are exported too come last. A column at a time is far smaller than its records.
            whole = pq.read_table(utf8_path(self._path)).sort_by("plan_order")
            with parquet_writer(self._path, self._schema) as writer:
                writer.write(whole, row_group_size=GROUP_ROWS)
        return scan_parquet(self._path)

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write(table(self._waiting, SCHEMA))
            self._waiting = []


def current(path: Path, source: str) -> pl.LazyFrame | None:
    """The table that stands at `path`; None where there is none of this version, or where it was made from something
    else."""
    try:
        schema = pq.read_schema(utf8_path(path))
    except (OSError, pa.ArrowInvalid):
        return None
    made_from = (schema.metadata or {}).get(b"source")
    return scan_parquet(path) if schema.equals(SCHEMA) and made_from == source.encode() else None
