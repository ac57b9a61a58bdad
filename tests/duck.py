"""What DuckDB reads, asked in a process of its own: its binding ends with pages of messages about its own memory."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

CODE = """
import duckdb, json, sys
found = [duckdb.connect().execute("select * from read_parquet(?)", [f"{folder}/*"]) for folder in sys.argv[1:]]
print('found', json.dumps([[[column[0] for column in made.description], len(made.fetchall())] for made in found]))
"""


def read(folders: Iterable[Path]) -> dict[str, tuple[list[str], int]]:
    """By the folder's name, the columns and the number of rows of all files that lie in it."""
    folders = list(folders)
    done = subprocess.run([sys.executable, "-c", CODE, *folders], capture_output=True, text=True, check=True)
    # Where a query takes its time, DuckDB draws its progress there too.
    line = done.stdout.rpartition("found ")[2].splitlines()[0]
    return {folder.name: (found[0], found[1]) for folder, found in zip(folders, json.loads(line), strict=True)}
