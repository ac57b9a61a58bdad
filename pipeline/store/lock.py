"""The lock of a run, which allows one process per run. It is advisory and ends with its process, so it is never stale.

On a shared disk it holds for all machines if the file system has such locks. A file system without locks is refused; if
its locks are known to hold on this machine only, a warning says so.
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
"""Options of NFS and Lustre that hide a lock from other machines."""


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a run's folder. Raises RunLocked at once if another process (or task) holds it.

    If the body writes nothing, the folders that were created for the lock are removed again.
    """
    with clear_errors(folder):
        missing_folders = [path for path in (folder, *folder.parents) if not path.exists()]
        handle = open_locked(folder / NAME, os.O_RDWR | os.O_CREAT, partial(_lock, folder=folder), folder)
    try:
        with clear_errors(folder):
            write_line(handle, f"pid {os.getpid()} on {socket.gethostname()}\n")
        yield
    finally:
        with suppress(OSError):
            if missing_folders and [path.name for path in folder.iterdir()] == [NAME]:
                (folder / NAME).unlink()
                for path in missing_folders:
                    path.rmdir()
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(handle, 300, 0).decode(errors="replace").strip() or "unknown"
        raise RunLocked(f"another process ({holder}) is working on {folder}; wait until it ends or stop it") from error
    except OSError as error:
        if error.errno in _WITHOUT:
            raise _no_locks_error(folder, error.strerror or str(error)) from error
        raise
    _check_exclusion(folder)
    if option := local_lock_option(folder.resolve(), _read_mounts()):
        logger.warning(
            "%s: locks of this file system end at this machine (%s): never work on one run from two machines at once",
            folder,
            option,
        )


def _check_exclusion(folder: Path) -> None:
    second = os.open(folder / NAME, os.O_RDWR)
    try:
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    finally:
        os.close(second)
    raise _no_locks_error(folder, "a lock that is held was given again")


def _no_locks_error(folder: Path, why: str) -> StoreError:
    return StoreError(
        f"{folder} is on a file system without working locks ({why}), where two processes could spoil a run unseen; "
        "mount it with flock, or name an --out on another disk"
    )


def _read_mounts() -> str:
    try:
        return Path("/proc/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def local_lock_option(folder: Path, mounts: str) -> str:
    """Return the option in /proc/mounts (text `mounts`) that hides the folder's locks from other machines."""
    by_mount_point = {Path(part[1]): part[3] for line in mounts.splitlines() if len(part := line.split()) > 3}
    options = next((by_mount_point[path] for path in (folder, *folder.parents) if path in by_mount_point), "")
    match = _HERE_ALONE.search(options)
    return match[1] if match else ""
