"""Store a row per document while a corpus is prepared, in bounded memory.

The rows tell whether a text or an id has occurred before, and give access in any order when all documents are stored.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.corpus import parts
from pipeline.store import databases

_TABLES = """
CREATE TABLE IF NOT EXISTS documents (row INTEGER PRIMARY KEY, id TEXT UNIQUE, digest TEXT UNIQUE, sha256 TEXT,
    hash INTEGER, passages INTEGER);
CREATE TABLE IF NOT EXISTS aliases (document INTEGER, title TEXT);
CREATE TABLE IF NOT EXISTS progress (state BLOB);
"""
_SIGN = 1 << 63
"""Subtracted from a hash of 64 bits, since SQLite's integers are signed."""


class KeptDocuments:
    """An SQLite file with a row per kept document. It exists once something is kept.

    Everything added in one `with database` block is stored completely or not at all, also if the process is killed. The
    saved progress always matches the stored rows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def database(self) -> databases.Connection:
        return databases.open_database(self.path, _TABLES)

    def close(self) -> None:
        if connection := self.__dict__.pop("database", None):
            connection.close()

    def progress(self) -> bytes:
        """Return the last saved progress; empty if there is none or the file is damaged."""
        try:
            row = self.database.execute("SELECT state FROM progress").fetchone() if self.path.exists() else None
        except databases.Damaged:
            self.close()
            return b""
        return bytes(row[0]) if row else b""

    def save(self, progress: bytes) -> None:
        self.database.execute("INSERT OR REPLACE INTO progress (rowid, state) VALUES (1, ?)", (progress,))

    def same_text(self, digest: str) -> int | None:
        """Return the row of the document that already has this text, or None."""
        match = self.database.execute("SELECT row FROM documents WHERE digest = ?", (digest,)).fetchone()
        return match[0] if match else None

    def add(self, row: int, key: str, digest: str, sha256: str, id_hash: int, passages: int) -> bool:
        """Keep a document and return True, or return False if its id is taken."""
        values = row, key, digest, sha256, id_hash - _SIGN, passages
        return self.database.execute("INSERT OR IGNORE INTO documents VALUES (?, ?, ?, ?, ?, ?)", values).rowcount > 0

    def add_alias(self, row: int, title: str) -> None:
        self.database.execute("INSERT INTO aliases VALUES (?, ?)", (row, title))

    def aliases(self) -> pa.RecordBatch:
        """Return the titles that documents have besides their own, in the order of the documents."""
        rows = self.database.execute("SELECT document, title FROM aliases ORDER BY document, rowid").fetchall()
        return parts.aliases(rows)

    def in_order_of_ids(self) -> Iterator[tuple[str, str, int]]:
        """Yield the id, digest and row of every document."""
        return self.database.execute("SELECT id, sha256, row FROM documents ORDER BY id")

    def numbers(self, count: int) -> pa.RecordBatch:
        """Return the table that `parts.RowNumbers` reads, for `count` documents."""
        passages = self.database.execute("SELECT passages FROM documents ORDER BY row")
        first = _sum_of_earlier(np.fromiter((number for (number,) in passages), np.uint64, count))
        kinds = np.dtype([("hash", np.int64), ("row", np.uint32), ("passages", np.uint64)])
        rows = self.database.execute("SELECT hash, row, passages FROM documents ORDER BY hash, row")
        ordered = np.fromiter(rows, kinds, count)
        hashes = ordered["hash"].view(np.uint64) ^ np.uint64(_SIGN)
        columns = (first, hashes, ordered["row"], _sum_of_earlier(ordered["passages"]))
        return pa.RecordBatch.from_arrays(list(map(parts.numbers, columns)), schema=parts.NUMBERS)


def _sum_of_earlier(counts: Any) -> Any:
    return np.cumsum(counts, dtype=np.uint64) - counts
