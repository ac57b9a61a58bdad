"""The table of a run's seeds for who looks at it: that of the data set where it is current, or one that is made from
the journal meanwhile, so much of it as has been read.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Lock, Thread

import pyarrow.parquet as pq

from pipeline.analysis import seed_table
from pipeline.analysis.run_source import Source, Table
from pipeline.analysis.seed_rows import SCHEMA, Row
from pipeline.analysis.seed_rows import row as row_of
from pipeline.errors import DigsiteError, StoreError
from pipeline.run import publish
from pipeline.store.amendments import build_join
from pipeline.store.arrow import parquet_writer, table
from pipeline.store.files import utf8_path
from pipeline.store.journal import Journal
from pipeline.store.scratch import Scratch
from pipeline.store.tables import scan_parquet
from pipeline.types import Record

logger = logging.getLogger(__name__)
_FIRST = 1.5
"""Seconds that the first question waits, so that a small run is there whole at once."""
_PART_ROWS = 300
_REST = 3.0
"""Seconds between rebuilds of a table, or twice as long as the last one took if that is more."""


class TabledSource(Source):
    """What has the lines of a journal. Its table is made in a thread of its own; every question gets what is there by
    then."""

    def __init__(self, slug: str, path: Path, lines: Path, journal: Journal, scratch: Scratch) -> None:
        """`lines` is the folder of a run, where there is a `config`, else that of the journal's files."""
        self.slug, self.name, self.folder = slug, "/".join(path.parts[-2:]), path
        self._lines, self._journal = lines, journal
        self._exported_path = lines / "dataset" / seed_table.NAME
        self._scratch, self._lock = scratch, Lock()
        self._thread: Thread | None = None
        self._state: tuple[object, ...] | None = None
        self._rest_until = 0.0
        self._made = 0
        self._table = Table(seed_table.frame([]), "empty", "reading the journal")
        self._joined: Callable[[Record], Record] = lambda record: record
        self._joined_state: tuple[object, ...] = ()

    def seeds(self) -> Table:
        """What is there now; where the run has grown, a new one begins to be made."""
        with self._lock:
            state = self._files()
            first = self._state is None
            idle = self._thread is None or not self._thread.is_alive()
            if state != self._state and idle and time.monotonic() >= self._rest_until:
                self._state = state
                if first:
                    self._table = self._exported() or self._table
                self._thread = Thread(target=self._make, name="tabling", daemon=True)
                self._thread.start()
            thread = self._thread
        if first and thread and self._table.version == "empty":
            thread.join(_FIRST)
        return self._table

    def whole(self) -> Table:
        self.seeds()
        if self._thread:
            self._thread.join()
        if self._table.pending:
            raise StoreError(self._table.pending)
        return self._table

    def read(self, key: str) -> Record:
        while key not in self._journal.entries and self._journal.advance():
            pass
        record = self._journal.read(key)
        with self._lock:
            if (state := self._files()) != self._joined_state:
                self._joined, self._joined_state = build_join(self._lines, forks=True), state
        return self._joined(record)

    def _exported(self) -> Table | None:
        """The table of the data set, which may be older than the run."""
        if not self._exported_path.exists() or not pq.read_schema(utf8_path(self._exported_path)).equals(SCHEMA):
            return None
        return Table(scan_parquet(self._exported_path), f"exported {self._exported_path.stat().st_mtime_ns}")

    def _files(self) -> tuple[object, ...]:
        """Another value where anything has changed that rows are made from."""
        paths = list(self._lines.glob("*/*.jsonl" if self.config else "*.jsonl"))
        paths += [path for path in (self._lines / "run.json", self._exported_path) if path.exists()]
        return tuple(sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths))

    def _make(self) -> None:
        began = time.monotonic()
        try:
            while self._journal.advance():
                pass
            self._tabulate()
        except (DigsiteError, OSError) as error:
            logger.warning("%s: %s", self._lines, error)
            self._table = self._table._replace(pending=str(error))
        finally:
            took = time.monotonic() - began
            self._rest_until = time.monotonic() + max(_REST, 2 * took)

    def _tabulate(self) -> None:
        rows = self._bare_rows()
        if self.config:
            found = publish.RunRecords(self._lines, self.config, journal=self._journal)
            if found.exported() is not None and (exported := self._exported()):
                self._table = exported
                return
            rows = map(found.row, found)
        self._made += 1
        folder, before, parts, done = self._scratch.folder(), self._table, list[Path](), 0
        for group in iter(lambda: list(islice(rows, _PART_ROWS)), []):
            done += len(group)
            parts.append(folder / f"{done}.parquet")
            with parquet_writer(parts[-1], SCHEMA) as writer:
                writer.write(table(group, SCHEMA))
            pending = f"{done:,} of {len(self._journal.entries):,} seeds read so far"
            if before.version == "empty":
                self._table = Table(scan_parquet(*parts), f"{self._made} {done}", pending)
            else:
                self._table = before._replace(pending=f"the run has more to show: {pending}")
        self._table = Table(scan_parquet(*parts), f"{self._made} whole") if parts else before._replace(pending="")

    def _bare_rows(self) -> Iterator[Row]:
        """Of lines that no gate has looked at."""
        for key in list(self._journal.entries):
            with suppress(StoreError):
                yield row_of(self._journal.read(key))
