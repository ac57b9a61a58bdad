"""One process per run: an advisory lock that dies with its holder, so that no stale lock can ever be left."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.store.files import clear_errors


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run's folder. Raises StoreError at once where another process (or task) holds it."""
    path = folder / ".lock"
    with clear_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(handle, 20, 0).decode(errors="replace").strip() or "unknown"
            raise StoreError(f"another process ({holder}) works on {folder}; wait until it ends or stop it") from error
        with clear_errors(path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"pid {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
