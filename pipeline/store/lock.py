"""One process per run: an advisory lock that dies with its holder, so that no stale lock can ever be left."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.store.files import clear_errors

NAME = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run's folder. Raises StoreError at once where another process (or task) holds it.

    A folder in which nothing was written meanwhile is removed again, with those above it that were made for it.
    """
    with clear_errors(folder):
        made = [place for place in (folder, *folder.parents) if not place.exists()]
        handle = _opened(folder)
    try:
        with clear_errors(folder):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"pid {os.getpid()}\n".encode(), 0)
        yield
    finally:
        with suppress(OSError):
            if made and [place.name for place in folder.iterdir()] == [NAME]:
                (folder / NAME).unlink()
                for place in made:
                    place.rmdir()
        os.close(handle)


def _opened(folder: Path) -> int:
    """The lock's file, open and locked: that which has the name, not one that its last holder has just removed."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # the folder went
            continue
        try:
            _lock(handle, folder)
            if os.path.samestat(os.fstat(handle), (folder / NAME).stat()):
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(handle, 20, 0).decode(errors="replace").strip() or "unknown"
        raise StoreError(f"another process ({holder}) is working on {folder}; wait until it ends or stop it") from error
