"""The table of a run's seeds for who looks at it: that of the data set where it is current, or one that is made from
the journal meanwhile, so much of it as has been read.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread

import pyarrow.parquet as pq

from pipeline.analysis import seed_table
from pipeline.analysis.run_source import Table
from pipeline.analysis.seed_rows import SCHEMA, Row
from pipeline.analysis.seed_rows import row as row_of
from pipeline.config import RunConfig
from pipeline.errors import DigsiteError, StoreError
from pipeline.run import publish
from pipeline.store.amendments import joined
from pipeline.store.arrow import parquet_writer, table
from pipeline.store.offsets import Offsets
from pipeline.store.scratch import Scratch
from pipeline.store.tables import scan_parquet
from pipeline.types import Record

logger = logging.getLogger(__name__)
_FIRST = 1.5
"""Seconds that the first question waits, so that a small run is there whole at once."""
_PART_ROWS, _PART_SECONDS = 1000, 1.0
_REST = 3.0
"""Seconds between rebuilds of a table, or twice as long as the last one took if that is more."""


class SeedTableBuilder:
    """Makes the table in a thread of its own; every question gets what is there by then."""

    def __init__(self, folder: Path, config: RunConfig | None, offsets: Offsets, scratch: Scratch) -> None:
        """`folder` is that of a run; without a configuration, that of a journal's files."""
        self._folder, self._config, self._offsets = folder, config, offsets
        self._path = folder / "dataset" / seed_table.NAME
        self._scratch, self._lock = scratch, Lock()
        self._thread: Thread | None = None
        self._state: tuple[object, ...] | None = None
        self._rest_until = 0.0
        self._made = 0
        self._table = Table(seed_table.frame([]), "empty", "reading the journal")
        self._joined: Callable[[Record], Record] | None = None
        self._joined_state: tuple[object, ...] = ()

    def table(self) -> Table:
        """What is there now; where the run has grown, a new one begins to be made."""
        with self._lock:
            state = self._files()
            first = self._state is None
            idle = self._thread is None or not self._thread.is_alive()
            if state != self._state and idle and time.monotonic() >= self._rest_until:
                self._state = state
                if first and (exported := self._exported()):
                    self._table = exported
                self._thread = Thread(target=self._make, name="tabling", daemon=True)
                self._thread.start()
            thread = self._thread
        if first and thread and not self._table.version.startswith("exported"):
            thread.join(_FIRST)
        return self._table

    def whole(self) -> Table:
        """All of it, however long that takes. Raises StoreError where it cannot be made."""
        self.table()
        if self._thread:
            self._thread.join()
        if self._table.pending:
            raise StoreError(self._table.pending)
        return self._table

    def joined(self, record: Record) -> Record:
        """With what was found out later."""
        if self._config is None:
            return record
        with self._lock:
            state = self._beside()
            if self._joined is None or state != self._joined_state:
                self._joined, self._joined_state = joined(self._folder, forks=True), state
        return self._joined(record)

    def _exported(self) -> Table | None:
        """The table of the data set."""
        if not self._path.exists() or not pq.read_schema(self._path).equals(SCHEMA):
            return None
        return Table(scan_parquet(self._path), f"exported {self._path.stat().st_mtime_ns}")

    def _files(self) -> tuple[object, ...]:
        """Another value where anything has changed that rows are made from."""
        paths = list(self._folder.glob("*/*.jsonl" if self._config else "*.jsonl"))
        paths += [path for name in ("run.json", f"dataset/{seed_table.NAME}") if (path := self._folder / name).exists()]
        return tuple(sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths))

    def _beside(self) -> tuple[object, ...]:
        paths = (path for name in ("completed", "remeasured", "branches") for path in (self._folder / name).glob("*"))
        return tuple(sorted((str(path), path.stat().st_size) for path in paths))

    def _make(self) -> None:
        began = time.monotonic()
        try:
            while self._offsets.advance():
                pass
            self._tabulate()
        except (DigsiteError, OSError) as error:
            logger.warning("%s: %s", self._folder, error)
            self._table = self._table._replace(pending=str(error))
        finally:
            took = time.monotonic() - began
            self._rest_until = time.monotonic() + max(_REST, 2 * took)

    def _tabulate(self) -> None:
        if self._config and (exported := self._exported()):
            source = publish.source(self._folder, self._config, self._offsets.lines())
            if seed_table.current(self._path, source) is not None:
                self._table = exported
                return
        self._made += 1
        parts = self._scratch.folder()
        whole, done = len(self._offsets), 0
        nothing = self._table.version == "empty"
        for number, rows in enumerate(_grouped(self._rows())):
            with parquet_writer(parts / f"{number:06}.parquet", SCHEMA) as writer:
                writer.write(table(rows, SCHEMA))
            done += len(rows)
            pending = f"{done:,} of {whole:,} seeds read so far"
            if nothing:
                self._table = Table(scan_parquet(*sorted(parts.glob("*.parquet"))), f"{self._made} {number}", pending)
            else:
                self._table = self._table._replace(pending=f"the run has more to show: {pending}")
        if not done:
            self._table = self._table._replace(pending="")
        else:
            self._table = Table(scan_parquet(*sorted(parts.glob("*.parquet"))), f"{self._made} whole")

    def _rows(self) -> Iterator[Row]:
        if self._config:
            found = publish.RunRecords(self._folder, self._config)
            yield from map(found.row, found)
        else:
            for key, _ in self._offsets.lines():
                with suppress(StoreError):
                    yield row_of(self._offsets.read(key))


def _grouped(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Many at once, or fewer where they take long."""
    group: list[Row] = []
    until = time.monotonic() + _PART_SECONDS
    for row in rows:
        group.append(row)
        if len(group) == _PART_ROWS or time.monotonic() > until:
            yield group
            group, until = [], time.monotonic() + _PART_SECONDS
    if group:
        yield group
