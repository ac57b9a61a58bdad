"""Files that are there whole or not at all.

A final name never stands for half a file: everything is built beside it under a temporary name, synced, and renamed.
What a killed process leaves behind has a temporary name and is swept by the next one that holds the folder's lock.
Every `OSError` of a write becomes one line that names the file, so that a full disk ends a run like a Ctrl-C does.
"""

import errno
import fcntl
import hashlib
import mmap
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import orjson

from pipeline.errors import StoreError, UsageError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_TOO_MANY = {errno.EMFILE, errno.ENFILE}


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the body into an error of one line that says what to do: a StoreError, or the user's own."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StoreError(f"disk full while writing {path}; free some space and repeat the command") from error
        if error.errno == errno.EFBIG:
            line = f"{path} would be too large for this process; raise the limit (ulimit -f) and repeat the command"
            raise StoreError(line) from error
        if error.errno in _TOO_MANY:
            line = f"too many files are open to write {path}; raise the limit (ulimit -n) and repeat the command"
            raise StoreError(line) from error
        if isinstance(error, NotADirectoryError):
            raise UsageError(f"cannot write {path}: a part of it is a file; name another --out") from error
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`: what the body makes there takes the place of `path` if the body ends well."""
    with clear_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        try:
            yield temporary
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of `path` when the body ends well."""
    with _replacing(path) as temporary, temporary.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def atomic_write(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: readers see the old file or the new one, and once it returns the new one stays."""
    with atomic_file(path) as file:
        file.write(data)


def write_json(path: Path, tree: Any) -> None:
    """`tree`, indented and with sorted keys, so that equal values are equal bytes."""
    atomic_write(
        path, orjson.dumps(tree, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    )


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """An empty folder to build in, which takes the place of `path` when the body ends well and vanishes otherwise.

    A kill between the two renames at the end leaves `path` absent, never mixed. One builder at a time: another gets a
    StoreError. The body may write with anything (pyarrow, a JVM); all is synced before the rename.
    """
    building = path.with_name(path.name + ".incomplete")
    with growing_folder(building, wait=False) as install:
        emptied(building)
        try:
            yield building
            install(path)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise


@contextmanager
def growing_folder(building: Path, *, wait: bool = True) -> Iterator[Callable[[Path], None]]:
    """A folder that keeps what is in it when the body fails or is killed, so that the next one goes on from there.

    Yields a function that moves it to its final place. Waits for another process that is building in it, or else
    raises StoreError.
    """

    def lock(handle: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise StoreError(f"another process is building {building}; wait until it is done") from error

    with clear_errors(building):
        made = [place for place in (building, *building.parents) if not place.exists()]
        handle = open_locked(building, os.O_RDONLY, lock, building)
        try:
            yield lambda path: _install(building, path)
        finally:
            with suppress(OSError):  # nothing was left to go on from
                for place in made or [building]:
                    place.rmdir()
            os.close(handle)


def open_locked(path: Path, flags: int, lock: Callable[[int], None], folder: Path) -> int:
    """A handle of `path`, locked by `lock`: that which has the name, not one that another process has just moved away
    or removed. `folder` is made where it is not there."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            handle = os.open(path, flags, 0o666)
            try:
                lock(handle)
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)


def _install(building: Path, path: Path) -> None:
    old = path.with_name(path.name + ".old")
    _sync_tree(building)
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    building.rename(path)
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def emptied(folder: Path, keep: Container[str] = ()) -> None:
    """Remove all that is in a folder but what is named."""
    with clear_errors(folder):
        for path in folder.iterdir():
            if path.name not in keep:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    with clear_errors(path):
        path.unlink(missing_ok=True)


def discard_unfinished(folder: Path, pattern: str) -> None:
    """Remove the folders that `growing_folder` has left and that nobody builds in."""
    for building in folder.glob(f"{pattern}.incomplete"):
        with suppress(StoreError, OSError), growing_folder(building, wait=False):
            emptied(building)


def checksum(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_of(owner: object) -> Path:
    """A temporary folder that is removed when `owner` goes."""
    path = Path(tempfile.mkdtemp(prefix="digsite-"))
    weakref.finalize(owner, shutil.rmtree, path, ignore_errors=True)
    return path


def standing(path: Path) -> Path:
    """The folder that `atomic_folder` has made, also where a kill between its renames has moved it aside."""
    old = path.with_name(path.name + ".old")
    return old if old.exists() and not path.exists() else path


def take_over(source: Path, target: Path) -> None:
    """Have the file in a second place too, without a copy where the file system can: no file is ever written again."""
    with clear_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.hardlink_to(source)
        except OSError:
            shutil.copyfile(source, target)


def link(path: Path, target: str) -> None:
    """Point the symbolic link `path` to `target` (relative to the link's folder), atomically."""
    if path.exists() and not path.is_symlink():
        raise StoreError(f"{path} is in the way of a link; move it elsewhere")
    with _replacing(path) as temporary:
        temporary.symlink_to(target)


def sweep(folder: Path) -> None:
    """Undo what killed writers left in `folder` (not below it). Call it under the lock of the folder only."""
    for old in folder.glob("*.old"):
        if not old.with_suffix("").exists():
            old.rename(old.with_suffix(""))
    discard_unfinished(folder, "*")
    for stale in [*folder.glob(".*.tmp"), *folder.glob("*.old")]:
        with suppress(OSError):
            shutil.rmtree(stale) if stale.is_dir() and not stale.is_symlink() else stale.unlink()


class Appender:
    """An append-only file of lines: one write per line, so that a kill can tear the last one only. `synced` lines stay
    when the machine stops too; to sync one takes a quarter of a millisecond to some milliseconds, and all calls wait.

    Opening it cuts a torn last line off; a write that fails is cut off at once. A file that was removed or replaced
    takes no more lines: they would be lost when it is closed.
    """

    def __init__(self, path: Path, *, synced: bool = True) -> None:
        self.path, self._synced = path, synced
        with clear_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            self.size = self._cut()
            sync_folder(path.parent)

    def append(self, line: bytes) -> int:
        """Write `line` and its line end; its offset. Raises StoreError with the file as it was before."""
        offset = self.size
        data = line + b"\n"
        with clear_errors(self.path):
            if not os.path.samestat(self.path.stat(), os.fstat(self._handle)):
                raise StoreError(f"{self.path} was replaced by another file meanwhile; repeat the command")
            try:
                written = os.write(self._handle, data)
                if written != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if self._synced:
                    os.fsync(self._handle)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(self._handle, offset)
                raise
        self.size += len(data)
        return offset

    def close(self) -> None:
        os.close(self._handle)

    def _cut(self) -> int:
        """Truncate after the last line end; the size that is left."""
        size = os.fstat(self._handle).st_size
        if not size:
            return 0
        with mmap.mmap(self._handle, size, access=mmap.ACCESS_READ) as lines:
            end = lines.rfind(b"\n") + 1
        if end < size:
            os.ftruncate(self._handle, end)
            os.fsync(self._handle)
        return end


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a crash of the machine."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_tree(root: Path) -> None:
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            sync_folder(Path(folder, name))
        sync_folder(Path(folder))
