"""SQLite files of other packages. They are opened here, like everything that changes the disk."""

import sqlite3
from pathlib import Path

from pipeline.store.real_paths import refuse_links

Connection = sqlite3.Connection
Damaged = sqlite3.DatabaseError
Unwritable = sqlite3.OperationalError
"""A subclass of `Damaged`: catch it first."""


def open_database(path: Path, tables: str) -> Connection:
    """Open the database, and run the SQL in `tables`. Any one thread at a time may use it."""
    refuse_links(path)
    database = sqlite3.connect(path, check_same_thread=False)
    database.executescript(tables)
    return database
