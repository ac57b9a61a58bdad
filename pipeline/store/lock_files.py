"""Files that processes lock and share. A lock ends with its process."""

import fcntl
import logging
import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.errors import StoreError, UsageError
from pipeline.store.real_paths import make_folder, open_file

logger = logging.getLogger(__name__)
SILENT_SECONDS = 3.0
"""How long a wait for another process may take before a warning says so."""
_LONGEST_PAUSE = 0.2
_MARK = ".used"


def open_locked(path: Path, flags: int, lock: Callable[[int], None], folder: Path) -> int:
    """Open `path`, call `lock(handle)` and return the handle. Create `folder` if it is missing.

    The handle is of the file that has this name now, not of one that another process has meanwhile moved or removed.
    """
    while True:
        make_folder(folder)
        with suppress(FileNotFoundError):
            handle = open_file(path, flags, _mode(folder))
            try:
                lock(handle)
                if os.path.samestat(os.fstat(handle), path.lstat()):
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)


def mark_as_used(folder: Path, owner: object) -> None:
    """Keep others from removing a folder for as long as `owner` lives.

    A folder that is read-only or lies behind a link is not marked: it can be read, and is not removed either.

    Raises:
        StoreError: if the folder is being removed.
    """
    try:
        handle = _open_mark(folder)
    except FileNotFoundError as error:
        raise StoreError(f"{folder} was removed; repeat the command") from error
    except (OSError, UsageError):
        return
    weakref.finalize(owner, os.close, handle)
    is_marked = _try_lock(handle, fcntl.LOCK_SH)
    if not is_marked or not (folder / _MARK).exists():
        raise StoreError(f"{folder} is being removed; repeat the command")


@contextmanager
def try_exclusive(folder: Path) -> Iterator[bool]:
    """Yield whether no process has marked the folder as used. None can while the body runs."""
    handle = _open_mark(folder)
    try:
        yield _try_lock(handle, fcntl.LOCK_EX)
    finally:
        os.close(handle)


def _try_lock(handle: int, operation: int) -> bool:
    try:
        fcntl.flock(handle, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return operation == fcntl.LOCK_SH  # a file system without locks
    return True


def _open_mark(folder: Path) -> int:
    return open_file(folder / _MARK, os.O_RDWR | os.O_CREAT, _mode(folder))


def wait_for_lock(handle: int, operation: int, path: Path, *, seconds: float | None = None) -> None:
    """Lock the file at `path`, and warn if that takes long. Raises StoreError after `seconds`."""
    began, warned, pause = time.monotonic(), False, 0.005
    while True:
        try:
            fcntl.flock(handle, operation | fcntl.LOCK_NB)
        except BlockingIOError as error:
            waited = time.monotonic() - began
            if seconds is not None and waited >= seconds:
                raise StoreError(f"another process keeps {path} locked; stop it and repeat the command") from error
            if waited >= SILENT_SECONDS and not warned:
                logger.warning("waiting for another process, which keeps %s locked", path)
                warned = True
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            return


def open_private(path: Path, line: str | None = None) -> int:
    """Open a small file that only its owner can read, and replace its content by `line` if one is passed."""
    handle = open_file(path, os.O_RDWR | os.O_CREAT, 0o600)
    if line is not None:
        write_line(handle, line)
    return handle


def write_line(handle: int, line: str) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, line.encode(), 0)


def _mode(folder: Path) -> int:
    """Return the mode of a lock file. Anyone who can read it can lock it, so only writers of the folder may read it."""
    writers = folder.stat().st_mode & 0o222
    return writers | writers << 1
