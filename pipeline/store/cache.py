"""Paid model answers by the digest of their request, in one SQLite file that several runs may share.

In WAL mode a commit is a write without a sync and takes about 30 microseconds. It survives a kill of the process at any
moment; a power cut may lose the last answers but never damages the file. Values are compressed JSON and checked when
read; a damaged value is a cache miss.
"""

import resource
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import zstandard

from pipeline.errors import StoreError
from pipeline.store.files import clear_errors, no_room
from pipeline.store.real_paths import make_folder, refuse_links

NAME = "cache.sqlite"
"""The file in an output folder that all its runs share."""
_VERSION = 1
_APPLICATION = 0x44494753
_MAX_VALUE = 64 << 20


class Cache:
    """Values by SHA-256 digest. Safe to use from any thread, while other processes use the same file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with clear_errors(path):
            make_folder(path.parent)
            refuse_links(path)
        with self._errors():
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        try:
            with self._errors():
                self._prepare()
        except StoreError:
            self._db.close()
            raise
        self._end = weakref.finalize(self, _checkpoint, self._db)

    def get(self, digest: bytes) -> bytes | None:
        """Return the JSON text that was first put under the digest, or None."""
        with self._errors():
            row = self._db.execute("SELECT value FROM answers WHERE digest = ?", (digest,)).fetchone()
            if row is None:
                return None
            value = _unpack(digest, row[0])
            if value is None:
                self._db.execute("DELETE FROM answers WHERE digest = ?", (digest,))
            return value

    def put(self, digest: bytes, value: bytes) -> bytes:
        """Store the JSON text unless the digest has one, and return the stored text, so that all processes agree."""
        with self._errors():
            row = (digest, _pack(digest, value))
            added = self._db.execute("INSERT OR IGNORE INTO answers (digest, value) VALUES (?, ?)", row).rowcount
        return value if added else self.get(digest) or value

    def drop(self, digests: Iterable[bytes]) -> None:
        with self._errors():
            self._db.executemany("DELETE FROM answers WHERE digest = ?", [(digest,) for digest in digests])

    def take(self, path: Path) -> None:
        """Copy the answers of another cache file; for a digest that both have, the answer of this cache stays."""
        refuse_links(path)  # SQLite may write to it too
        with self._errors():
            self._db.execute("ATTACH DATABASE ? AS other", (str(path),))
            try:
                self._db.execute("INSERT OR IGNORE INTO answers SELECT digest, value FROM other.answers")
            finally:
                self._db.execute("DETACH DATABASE other")

    def close(self) -> None:
        """Move every answer into the one file, and close it. This also runs at the end of the process."""
        with self._lock:
            self._end()

    def _prepare(self) -> None:
        select = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
        application, version, tables = self._db.execute(
            f"{select} FROM pragma_application_id, pragma_user_version"
        ).fetchone()
        if tables and (application, version) != (_APPLICATION, _VERSION):
            raise StoreError(f"{self.path} is not a cache of this version of digsite; move it elsewhere and repeat")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("CREATE TABLE IF NOT EXISTS answers (digest BLOB PRIMARY KEY, value BLOB NOT NULL)")
        self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._db.execute(f"PRAGMA user_version = {_VERSION}")
        self._db.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Let in one thread at a time, and turn every error of SQLite into one line that names the file."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                name = getattr(error, "sqlite_errorname", "")
                if name in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
                    has_limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
                    raise no_room(self.path, is_limit=has_limit and name == "SQLITE_IOERR_WRITE") from error
                if type(error) is sqlite3.DatabaseError:
                    message = f"{self.path} is damaged ({error}); move it elsewhere and repeat: its answers are lost"
                else:
                    message = f"cannot use {self.path}: {error}"
                raise StoreError(message) from error


class BatchCache(Cache):
    """A cache for the answers of one batch on another machine, on top of the run's cache, which is only read.

    SQLite's locks and its `-wal` work only between processes of one machine. So the file of the run's cache is read
    without them, and what cannot be read because it is being written is a cache miss.
    """

    def __init__(self, path: Path, run_cache: Path) -> None:
        super().__init__(path)
        self._run_cache: sqlite3.Connection | None = None
        with suppress(sqlite3.Error):
            address = f"{run_cache.absolute().as_uri()}?immutable=1"
            self._run_cache = sqlite3.connect(address, uri=True, check_same_thread=False)

    def get(self, digest: bytes) -> bytes | None:
        if not self.path.exists():
            # Stop here: further answers would be paid for and never collected.
            raise StoreError(f"{self.path} is gone: the command that started this worker has already collected it")
        if (value := super().get(digest)) is not None or self._run_cache is None:
            return value
        with self._lock, suppress(sqlite3.Error):
            row = self._run_cache.execute("SELECT value FROM answers WHERE digest = ?", (digest,)).fetchone()
            return _unpack(digest, row[0]) if row else None
        return None

    def close(self) -> None:
        super().close()
        if self._run_cache is not None:
            self._run_cache.close()


def _checkpoint(db: sqlite3.Connection) -> None:
    # SQLite moves the `-wal` into the file by itself only if no other process uses the file.
    with suppress(sqlite3.Error):
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    db.close()


def _pack(digest: bytes, value: bytes) -> bytes:
    """Compress the value, with its digest in front so that a damaged index cannot return another request's answer."""
    return digest[:8] + zstandard.ZstdCompressor(level=3, write_checksum=True).compress(value)


def _unpack(digest: bytes, packed: object) -> bytes | None:
    if not isinstance(packed, bytes) or packed[:8] != digest[:8]:
        return None
    try:
        if zstandard.get_frame_parameters(packed[8:]).content_size > _MAX_VALUE:
            return None
        return zstandard.ZstdDecompressor().decompress(packed[8:])
    except zstandard.ZstdError:
        return None
