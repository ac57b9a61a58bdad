"""A file of a header and rows of one size. It grows by whole parts, and keeps the complete ones after a kill."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pipeline.store.files import clear_errors
from pipeline.store.real_paths import open_file


class RowFile:
    """An open file of rows; `done` counts the rows in it, a multiple of a part's."""

    def __init__(self, file: IO[bytes], done: int) -> None:
        self._file, self.done = file, done

    def append(self, rows: bytes) -> None:
        self._file.write(rows)
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def row_file(path: Path, header: bytes, row: int, part: int) -> Iterator[RowFile]:
    """Open the file, cut after its last complete part. Raises StoreError.

    Args:
        row: bytes of a row.
        part: rows of a part.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with clear_errors(path), os.fdopen(open_file(path, flags), "ab") as file:
        done = max(0, path.stat().st_size - len(header)) // row // part * part
        file.truncate(len(header) + done * row if done else 0)
        if not done:
            file.write(header)
        yield RowFile(file, done)
