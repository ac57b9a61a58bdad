"""Answers that were paid for, by the digest of the request: one SQLite file that several runs may share.

In WAL mode a commit is a write to the system and no sync, about 30 microseconds: it survives the kill of the process
at any moment, and a power cut may cost the last answers but never the file. Values are compressed JSON, checked when
read; a damaged one is a miss.
"""

import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import zstandard

from pipeline.errors import StoreError
from pipeline.store.files import clear_errors
from pipeline.store.real_paths import make_folder, refuse_links

_VERSION = 1
_APPLICATION = 0x44494753
_MAX_VALUE = 64 << 20


class Cache:
    """`get` and `put` by a SHA-256 digest; safe from any thread, and beside other processes on the same file."""

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
        """The JSON text that was put first under the digest."""
        with self._errors():
            row = self._db.execute("SELECT value FROM answers WHERE digest = ?", (digest,)).fetchone()
            if row is None:
                return None
            value = _unpack(digest, row[0])
            if value is None:
                self._db.execute("DELETE FROM answers WHERE digest = ?", (digest,))
            return value

    def put(self, digest: bytes, value: bytes) -> bytes:
        """Keep the JSON text unless one is there; what stands now, so that two processes go on with the same answer."""
        with self._errors():
            row = (digest, _pack(digest, value))
            added = self._db.execute("INSERT OR IGNORE INTO answers (digest, value) VALUES (?, ?)", row).rowcount
        return value if added else self.get(digest) or value

    def drop(self, digests: Iterable[bytes]) -> None:
        """Keep the answers under these digests no longer."""
        with self._errors():
            self._db.executemany("DELETE FROM answers WHERE digest = ?", [(digest,) for digest in digests])

    def take(self, path: Path) -> None:
        """Keep the answers of another such file too; of two under one digest that which is here stays."""
        refuse_links(path)  # SQLite may write to it too
        with self._errors():
            self._db.execute("ATTACH DATABASE ? AS other", (str(path),))
            try:
                self._db.execute("INSERT OR IGNORE INTO answers SELECT digest, value FROM other.answers")
            finally:
                self._db.execute("DETACH DATABASE other")

    def close(self) -> None:
        """Done at the end of the process too, for whoever has not: the file alone then holds every answer."""
        with self._lock:
            self._end()

    def _prepare(self) -> None:
        found = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
        application, version, tables = self._db.execute(
            f"{found} FROM pragma_application_id, pragma_user_version"
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
        """One thread at a time, and every error of SQLite as one line that names the file."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                full = getattr(error, "sqlite_errorname", "") in ("SQLITE_FULL", "SQLITE_IOERR_WRITE")
                if full:
                    line = f"disk full while writing {self.path}; free some space and repeat the command"
                elif type(error) is sqlite3.DatabaseError:
                    line = f"{self.path} is damaged ({error}); move it elsewhere and repeat: its answers are lost"
                else:
                    line = f"cannot use {self.path}: {error}"
                raise StoreError(line) from error


class BatchCache(Cache):
    """The answers that a batch of seeds pays for on another machine, over those of the run's cache, which is only read.

    SQLite's locks and its `-wal` are for the processes of one machine. So the file of the run's cache is read as it is,
    and what cannot be read of it, since it is being written, is a miss.
    """

    def __init__(self, path: Path, known: Path) -> None:
        super().__init__(path)
        self._known: sqlite3.Connection | None = None
        with suppress(sqlite3.Error):
            address = f"{known.absolute().as_uri()}?immutable=1"
            self._known = sqlite3.connect(address, uri=True, check_same_thread=False)

    def get(self, digest: bytes) -> bytes | None:
        if not self.path.exists():
            # Who goes on would pay for what nobody takes over.
            raise StoreError(f"{self.path} is gone: the command that started this worker has already collected it")
        if (own := super().get(digest)) is not None or self._known is None:
            return own
        with self._lock, suppress(sqlite3.Error):
            row = self._known.execute("SELECT value FROM answers WHERE digest = ?", (digest,)).fetchone()
            return _unpack(digest, row[0]) if row else None
        return None

    def close(self) -> None:
        super().close()
        if self._known is not None:
            self._known.close()


def _checkpoint(db: sqlite3.Connection) -> None:
    """Move what stands in the `-wal` into the file, as far as other processes let it, and close."""
    # SQLite does so itself for the last connection to close, but another process may be at work on the file.
    with suppress(sqlite3.Error):
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    db.close()


def _pack(digest: bytes, value: bytes) -> bytes:
    """The digest goes in with the value, so that a damaged index cannot hand out another request's answer."""
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
