"""Read Parquet files with DuckDB in another process, since its binding ends with pages of messages about its memory."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

CODE = """
import duckdb, json, sys
tables = [duckdb.connect().execute("select * from read_parquet(?)", [f"{folder}/*"]) for folder in sys.argv[1:]]
print('tables', json.dumps([[[column[0] for column in table.description], len(table.fetchall())] for table in tables]))
"""


def read_tables(folders: Iterable[Path]) -> dict[str, tuple[list[str], int]]:
    """Return the columns and the number of rows of the files in each folder, by the folder's name."""
    folders = list(folders)
    process = subprocess.run([sys.executable, "-c", CODE, *folders], capture_output=True, text=True, check=True)
    # DuckDB also prints its progress there if a query is slow.
    line = process.stdout.rpartition("tables ")[2].splitlines()[0]
    return {folder.name: (columns, rows) for folder, (columns, rows) in zip(folders, json.loads(line), strict=True)}
