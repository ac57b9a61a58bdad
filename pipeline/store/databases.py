"""SQLite files of other packages: like all that changes the disk, they are opened here."""

import sqlite3
from pathlib import Path

from pipeline.store.real_paths import refuse_links

Connection = sqlite3.Connection
Damaged = sqlite3.DatabaseError
Unwritable = sqlite3.OperationalError
"""A kind of `Damaged`, so that it is to be caught before it."""


def opened(path: Path, tables: str) -> Connection:
    """The database in that file, with these tables; any one thread at a time may use it."""
    refuse_links(path)
    database = sqlite3.connect(path, check_same_thread=False)
    database.executescript(tables)
    return database
