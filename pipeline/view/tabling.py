"""The table of a run's seeds for `digsite view`.

It is the data set's table if that is current, else one built from the journal, which grows as the journal is read.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Lock, Thread

from pipeline.analysis import seed_table
from pipeline.analysis.run_source import Source, Table
from pipeline.analysis.seed_rows import SCHEMA, Row
from pipeline.analysis.seed_rows import row as row_of
from pipeline.errors import DigsiteError, StoreError
from pipeline.run import publish
from pipeline.store.amendments import build_join
from pipeline.store.arrow import parquet_writer, table
from pipeline.store.journal import Journal
from pipeline.store.scratch import Scratch
from pipeline.store.tables import scan_parquet
from pipeline.types import Record

logger = logging.getLogger(__name__)
_FIRST_WAIT = 1.5
"""Seconds that the first request waits, so that a small run is complete at once."""
_PART_ROWS = 300
_MIN_PAUSE = 3.0
"""The fewest seconds between rebuilds of a table. A slow rebuild waits twice as long as it took."""


class TabledSource(Source):
    """A source that reads journal lines. A thread builds its table; each request gets the rows that are ready."""

    def __init__(self, slug: str, path: Path, lines: Path, journal: Journal, scratch: Scratch) -> None:
        """Take `lines` as the run's folder if there is a `config`, else as the folder of the journal's files."""
        self.slug, self.name, self.folder = slug, "/".join(path.parts[-2:]), path
        self._lines, self._journal = lines, journal
        self._exported_path = lines / "dataset" / seed_table.NAME
        self._scratch, self._lock = scratch, Lock()
        self._thread: Thread | None = None
        self._state: tuple[object, ...] | None = None
        self._pause_until = 0.0
        self._builds = 0
        self._table = Table(seed_table.frame([]), "empty", "reading the journal")
        self._joined: Callable[[Record], Record] = lambda record: record
        self._joined_state: tuple[object, ...] = ()

    def seeds(self) -> Table:
        """Return the rows that are ready, and start a rebuild if the run has grown."""
        with self._lock:
            state = self._file_states()
            is_first = self._state is None
            is_idle = self._thread is None or not self._thread.is_alive()
            if state != self._state and is_idle and time.monotonic() >= self._pause_until:
                self._state = state
                if is_first:
                    self._table = self._read_exported() or self._table
                self._thread = Thread(target=self._build, name="tabling", daemon=True)
                self._thread.start()
            thread = self._thread
        if is_first and thread and self._table.version == "empty":
            thread.join(_FIRST_WAIT)
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
            if (state := self._file_states()) != self._joined_state:
                self._joined, self._joined_state = build_join(self._lines, forks=True), state
        return self._joined(record)

    def _read_exported(self) -> Table | None:
        """Return the data set's table, which may be older than the run, or None if it cannot be used."""
        frame = seed_table.scan_current(self._exported_path)
        return None if frame is None else Table(frame, f"exported {self._exported_path.stat().st_mtime_ns}")

    def _file_states(self) -> tuple[object, ...]:
        """Return a value that changes whenever a file changes that rows are made from."""
        paths = list(self._lines.glob("*/*.jsonl" if self.config else "*.jsonl"))
        paths += [path for path in (self._lines / "run.json", self._exported_path) if path.exists()]
        return tuple(sorted((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths))

    def _build(self) -> None:
        start = time.monotonic()
        try:
            while self._journal.advance():
                pass
            self._tabulate()
        except (DigsiteError, OSError) as error:
            logger.warning("%s: %s", self._lines, error)
            self._table = self._table._replace(pending=str(error))
        finally:
            duration = time.monotonic() - start
            self._pause_until = time.monotonic() + max(_MIN_PAUSE, 2 * duration)

    def _tabulate(self) -> None:
        rows = self._bare_rows()
        if self.config:
            records = publish.RunRecords(self._lines, self.config, journal=self._journal)
            if records.read_exported() is not None and (exported := self._read_exported()):
                self._table = exported
                return
            rows = map(records.row, records)
        self._builds += 1
        folder, previous, parts, row_count = self._scratch.folder(), self._table, list[Path](), 0
        for group in iter(lambda: list(islice(rows, _PART_ROWS)), []):
            row_count += len(group)
            parts.append(folder / f"{row_count}.parquet")
            with parquet_writer(parts[-1], SCHEMA) as writer:
                writer.write(table(group, SCHEMA))
            pending = f"{row_count:,} of {len(self._journal.entries):,} seeds read so far"
            if previous.version == "empty":
                self._table = Table(scan_parquet(*parts), f"{self._builds} {row_count}", pending)
            else:
                self._table = previous._replace(pending=f"the run has more to show: {pending}")
        self._table = Table(scan_parquet(*parts), f"{self._builds} whole") if parts else previous._replace(pending="")

    def _bare_rows(self) -> Iterator[Row]:
        for key in list(self._journal.entries):
            with suppress(StoreError):
                yield row_of(self._journal.read(key))
