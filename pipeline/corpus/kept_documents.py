"""Store a row per document while a corpus is prepared, in bounded memory.

The rows tell whether a text or an id has occurred before, and give access in any order when all documents are stored.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.corpus import parts
from pipeline.store import databases

_TABLES = """
PRAGMA journal_mode = OFF;
CREATE TABLE documents (row INTEGER PRIMARY KEY, id TEXT UNIQUE, digest TEXT UNIQUE, sha256 TEXT,
    hash INTEGER, passages INTEGER);
CREATE TABLE aliases (document INTEGER, title TEXT);
"""
_SIGN = 1 << 63
"""Subtracted from a hash of 64 bits, since SQLite's integers are signed."""


class KeptDocuments:
    """A new SQLite file with a row per kept document, which only this process reads."""

    def __init__(self, path: Path) -> None:
        self._database = databases.open_database(path, _TABLES)
        self.close = self._database.close

    def same_text(self, digest: str) -> int | None:
        """Return the row of the document that already has this text, or None."""
        match = self._database.execute("SELECT row FROM documents WHERE digest = ?", (digest,)).fetchone()
        return match[0] if match else None

    def add(self, row: int, key: str, digest: str, sha256: str, id_hash: int, passages: int) -> bool:
        """Keep a document and return True, or return False if its id is taken."""
        values = row, key, digest, sha256, id_hash - _SIGN, passages
        return self._database.execute("INSERT OR IGNORE INTO documents VALUES (?, ?, ?, ?, ?, ?)", values).rowcount > 0

    def add_alias(self, row: int, title: str) -> None:
        self._database.execute("INSERT INTO aliases VALUES (?, ?)", (row, title))

    def aliases(self) -> pa.RecordBatch:
        """Return the titles that documents have besides their own, in the order of the documents."""
        rows = self._database.execute("SELECT document, title FROM aliases ORDER BY document, rowid").fetchall()
        return parts.aliases(rows)

    def in_order_of_ids(self) -> Iterator[tuple[str, str, int]]:
        """Yield the id, digest and row of every document."""
        return self._database.execute("SELECT id, sha256, row FROM documents ORDER BY id")

    def numbers(self, count: int) -> pa.RecordBatch:
        """Return the table that `parts.RowNumbers` reads, for `count` documents."""
        passages = self._database.execute("SELECT passages FROM documents ORDER BY row")
        first = _sum_of_earlier(np.fromiter((number for (number,) in passages), np.uint64, count))
        kinds = np.dtype([("hash", np.int64), ("row", np.uint32), ("passages", np.uint64)])
        rows = self._database.execute("SELECT hash, row, passages FROM documents ORDER BY hash, row")
        ordered = np.fromiter(rows, kinds, count)
        hashes = ordered["hash"].view(np.uint64) ^ np.uint64(_SIGN)
        columns = (first, hashes, ordered["row"], _sum_of_earlier(ordered["passages"]))
        return pa.RecordBatch.from_arrays(list(map(parts.numbers, columns)), schema=parts.NUMBERS)


def _sum_of_earlier(counts: Any) -> Any:
    return np.cumsum(counts, dtype=np.uint64) - counts
