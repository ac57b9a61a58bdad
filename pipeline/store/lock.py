"""One process per run: an advisory lock that dies with its holder, so that no stale lock can ever be left.

On a shared disk it holds for all machines, where the file system has such locks. One that has none is refused, and one
of which it is known that its locks end at this machine is warned of.
"""

import errno
import fcntl
import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from pipeline.errors import RunLocked, StoreError
from pipeline.store.files import clear_errors
from pipeline.store.lock_files import open_locked, write_line

logger = logging.getLogger(__name__)
NAME = ".lock"
_WITHOUT = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}
_HERE_ALONE = re.compile(r"\b(nolock|local_lock=(?:flock|all)|localflock)\b")
"""Options of NFS and Lustre with which a lock is not seen by other machines."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a run's folder. Raises RunLocked at once where another process (or task) holds it.

    A folder in which nothing was written meanwhile is removed again, with those above it that were made for it.
    """
    with clear_errors(folder):
        made = [place for place in (folder, *folder.parents) if not place.exists()]
        handle = open_locked(folder / NAME, os.O_RDWR | os.O_CREAT, partial(_lock, folder=folder), folder)
    try:
        with clear_errors(folder):
            write_line(handle, f"pid {os.getpid()} on {socket.gethostname()}\n")
        yield
    finally:
        with suppress(OSError):
            if made and [place.name for place in folder.iterdir()] == [NAME]:
                (folder / NAME).unlink()
                for place in made:
                    place.rmdir()
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(handle, 300, 0).decode(errors="replace").strip() or "unknown"
        raise RunLocked(f"another process ({holder}) is working on {folder}; wait until it ends or stop it") from error
    except OSError as error:
        if error.errno in _WITHOUT:
            raise _without_locks(folder, error.strerror or str(error)) from error
        raise
    _excludes(folder)
    if option := here_alone(folder.resolve(), _mounts()):
        logger.warning(
            "%s: locks of this file system end at this machine (%s): never work on one run from two machines at once",
            folder,
            option,
        )


def _excludes(folder: Path) -> None:
    """Raises StoreError where the lock that we hold could be taken a second time."""
    second = os.open(folder / NAME, os.O_RDWR)
    try:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    finally:
        os.close(second)
    raise _without_locks(folder, "a lock that is held was given again")


def _without_locks(folder: Path, why: str) -> StoreError:
    return StoreError(
        f"{folder} is on a file system without working locks ({why}), where two processes could spoil a run unseen; "
        "mount it with flock, or name an --out on another disk"
    )


def _mounts() -> str:
    """Empty where the system does not show them."""
    try:
        return Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def here_alone(folder: Path, mounts: str) -> str:
    """The option, among the lines of /proc/mounts, that keeps locks of the folder's file system from other machines."""
    found = {Path(part[1]): part[3] for line in mounts.splitlines() if len(part := line.split()) > 3}
    options = next((found[place] for place in (folder, *folder.parents) if place in found), "")
    match = _HERE_ALONE.search(options)
    return match[1] if match else ""
