"""Open what `digsite view` shows: a run, a data set without its run, or a journal alone.

Nothing is written and no lock is taken, so that one can look at a run that is still going on.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.analysis import seed_table
from pipeline.analysis.figures import Outside
from pipeline.analysis.run_source import Listing, Source, Table
from pipeline.analysis.seed_rows import SCHEMA
from pipeline.errors import DigsiteError, StoreError, UsageError
from pipeline.run import publish, read
from pipeline.run.attempts import scan_attempts
from pipeline.run.locate import run_folder, runs
from pipeline.store import review_marks
from pipeline.store.files import utf8_path
from pipeline.store.journal import Journal
from pipeline.store.review_marks import Mark
from pipeline.store.scratch import Scratch
from pipeline.store.tables import scan_parquet
from pipeline.view.tabling import TabledSource

_READ_ATTEMPTS = 8
_SHOWN_ROWS = 8
"""The rows to show of one pair in each view."""


class RunSource(TabledSource):
    """A run's folder."""

    reviewable = True

    def __init__(self, slug: str, folder: Path, scratch: Scratch) -> None:
        run = read(folder)
        self.config = run.config
        self.what = run.what | {"gates": run.config.gates.public_settings()}
        super().__init__(slug, folder, folder, publish.journal_of(folder, whole=False), scratch)

    def outside(self) -> Outside:
        return publish.outside(self.folder)

    def attempts(self) -> pl.LazyFrame | None:
        return scan_attempts(self.folder)

    def marks(self) -> tuple[Mark, ...]:
        return tuple(review_marks.read(self.folder).values())

    def mark(self, mark: Mark) -> None:
        review_marks.add(self.folder, [mark])

    def publish(self) -> None:
        publish.check_lost_seeds(self.folder)
        publish.publish_marks(self.folder, read(self.folder).config)


class JournalSource(TabledSource):
    """Journal lines without the file of their run. No gate has judged them."""

    def __init__(self, slug: str, lines: Path, path: Path, scratch: Scratch) -> None:
        journal = Journal(lines, read_all=False)
        journal.advance()
        for key in list(journal.entries)[:_READ_ATTEMPTS]:
            with suppress(StoreError):
                journal.read(key)
                break
        else:
            raise UsageError(f"{path} holds no record that can be read: restore it, or use the version that wrote it")
        super().__init__(slug, path, lines, journal, scratch)


class DatasetSource(Source):
    """A data set without its run: it has rows, and no traces except those in its views."""

    def __init__(self, slug: str, folder: Path) -> None:
        self.slug, self.name, self.folder = slug, f"{folder.parent.name}/{folder.name}", folder
        self._path = folder / seed_table.NAME
        self._frame = scan_seed_table(self._path)

    def seeds(self) -> Table:
        return Table(self._frame, str(self._path.stat().st_mtime_ns))

    def rows(self, key: str) -> dict[str, list[dict[str, Any]]]:
        rows_by_view = {}
        for view in sorted(path for path in self.folder.iterdir() if any(path.glob("*.parquet"))):
            rows = scan_parquet(*sorted(view.glob("*.parquet")))
            if "id" in rows.collect_schema():
                rows_by_view[view.name] = rows.filter(pl.col("id") == key).head(_SHOWN_ROWS).collect().to_dicts()
        return rows_by_view


class Runs:
    """The named runs, or all runs in `out` if none is named. Each is opened when it is first needed."""

    def __init__(self, run_names: Sequence[str], out: Path) -> None:
        """Open all named runs. Raises UsageError if a name matches nothing, or what it matches cannot be opened."""
        self._out, self._scratch = out, Scratch()
        self._paths: dict[str, Path] = {}
        self._open: dict[str, Source] = {}
        self._named = bool(run_names)
        for name in run_names:
            self._add(_find_path(name, out))
        for slug in self._paths:
            self.open(slug)

    def list_runs(self) -> list[Listing]:
        if not self._named:
            for folder in runs(self._out):
                self._add(folder)
        return sorted(
            (self._listing(slug, path) for slug, path in self._paths.items()), key=lambda listing: -listing.age
        )

    def open(self, slug: str) -> Source:
        if slug not in self._paths:
            self.list_runs()
        if slug not in self._open:
            self._open[slug] = self._open_source(slug, self._paths[slug])
        return self._open[slug]

    def open_named(self) -> list[Source]:
        return [self.open(slug) for slug in self._paths]

    def close(self) -> None:
        self._scratch.close()

    def _add(self, path: Path) -> None:
        if path not in self._paths.values():
            slug = re.sub(r"[^A-Za-z0-9_.]+", "-", "-".join(path.parts[-2:])).strip("-.") or "run"
            same_slugs = sum(
                re.fullmatch(rf"{re.escape(slug)}(-\d+)?", existing) is not None for existing in self._paths
            )
            self._paths[f"{slug}-{same_slugs + 1}" if same_slugs else slug] = path

    def _listing(self, slug: str, path: Path) -> Listing:
        run_file, problem = path / "run.json", ""
        try:
            age = (run_file if run_file.exists() else path).stat().st_mtime
            if run_file.exists() and slug not in self._open:
                read(path)
        except (DigsiteError, OSError) as error:
            age, problem = 0.0, str(error)
        return Listing(slug, "/".join(path.parts[-2:]), path, age, problem)

    def _open_source(self, slug: str, path: Path) -> Source:
        if (path / "run.json").is_file():
            return RunSource(slug, path, self._scratch)
        if (path / seed_table.NAME).is_file():
            return DatasetSource(slug, path)
        journal = self._scratch.unpack(path) if path.is_file() else path
        return JournalSource(slug, journal, path, self._scratch)


def scan_seed_table(path: Path) -> pl.LazyFrame:
    """Return the table of seeds in a file. Raises UsageError if the file is not one, or lacks a column."""
    try:
        pq.read_schema(utf8_path(path))
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{path} is not a table of seeds; 'digsite export' writes one") from error
    schema = pl.DataFrame(pa.Table.from_batches([], schema=SCHEMA)).schema
    frame = scan_parquet(path)
    if not schema.items() <= frame.collect_schema().items():
        raise UsageError(f"{path} was written by another version of Digsite; write it anew: digsite export RUN")
    return frame


def _find_path(name: str, out: Path) -> Path:
    """Return a run's folder, a data set's folder, or a file or folder of journal lines."""
    try:
        return run_folder(name, out)
    except UsageError as no_run:
        path = Path(name).resolve()
        for folder in (path, path / "dataset"):
            if (folder / seed_table.NAME).is_file():
                return folder
        if path.is_file() and path.name.endswith((".jsonl", ".jsonl.zst")):
            return path
        if path.is_dir() and any(path.glob("*.jsonl")):
            return path
        if path.is_dir() and len(compressed := list(path.glob("*.jsonl.zst"))) == 1:
            return compressed[0].resolve()
        raise UsageError(f"{no_run}; or name a data set's folder, or a journal (.jsonl, .jsonl.zst)") from no_run
