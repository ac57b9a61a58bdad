"""A row for each document that is kept while a corpus is prepared: what tells that a text or an id came before, and
what is needed once all are there, in any order, in bounded memory.
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
"""Taken from a hash of 64 bits, since SQLite's whole numbers have a sign."""


class KeptDocuments:
    """An SQLite file, which is there once something is kept. What is added in a `with database` is kept whole or not at
    all, also where the process is killed; the last progress then is that of what is there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def database(self) -> databases.Connection:
        return databases.open_database(self.path, _TABLES)

    def close(self) -> None:
        if opened := self.__dict__.pop("database", None):
            opened.close()

    def progress(self) -> bytes:
        """As it was saved last; empty where nothing is kept that can be read."""
        try:
            found = self.database.execute("SELECT state FROM progress").fetchone() if self.path.exists() else None
        except databases.Damaged:
            self.close()
            return b""
        return bytes(found[0]) if found else b""

    def save(self, progress: bytes) -> None:
        self.database.execute("INSERT OR REPLACE INTO progress (rowid, state) VALUES (1, ?)", (progress,))

    def same_text(self, digest: str) -> int | None:
        """The row of the document that has the text already."""
        found = self.database.execute("SELECT row FROM documents WHERE digest = ?", (digest,)).fetchone()
        return found[0] if found else None

    def add(self, row: int, key: str, digest: str, sha256: str, id_hash: int, passages: int) -> bool:
        """Keep a document, unless its id was used before."""
        values = row, key, digest, sha256, id_hash - _SIGN, passages
        return self.database.execute("INSERT OR IGNORE INTO documents VALUES (?, ?, ?, ?, ?, ?)", values).rowcount > 0

    def add_alias(self, row: int, title: str) -> None:
        self.database.execute("INSERT INTO aliases VALUES (?, ?)", (row, title))

    def aliases(self) -> pa.RecordBatch:
        """All titles that documents have besides their own, in the order of the documents."""
        found = self.database.execute("SELECT document, title FROM aliases ORDER BY document, rowid").fetchall()
        return parts.aliases(found)

    def in_order_of_ids(self) -> Iterator[tuple[str, str, int]]:
        """Id, digest and row of all."""
        return self.database.execute("SELECT id, sha256, row FROM documents ORDER BY id")

    def numbers(self, count: int) -> pa.RecordBatch:
        """What `parts.RowNumbers` reads of so many documents."""
        passages = self.database.execute("SELECT passages FROM documents ORDER BY row")
        first = _before(np.fromiter((number for (number,) in passages), np.uint64, count))
        kinds = np.dtype([("hash", np.int64), ("row", np.uint32), ("passages", np.uint64)])
        rows = self.database.execute("SELECT hash, row, passages FROM documents ORDER BY hash, row")
        ordered = np.fromiter(rows, kinds, count)
        hashes = ordered["hash"].view(np.uint64) ^ np.uint64(_SIGN)
        columns = (first, hashes, ordered["row"], _before(ordered["passages"]))
        return pa.RecordBatch.from_arrays(list(map(parts.numbers, columns)), schema=parts.NUMBERS)


def _before(counts: Any) -> Any:
    """The sum of all that stand before each."""
    return np.cumsum(counts, dtype=np.uint64) - counts
