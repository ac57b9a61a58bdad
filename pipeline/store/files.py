"""Atomic files and folders.

A file with a final name is always complete: everything is built beside it under a temporary name, synced, and renamed.
A killed process leaves only temporary names, and the next process that holds the folder's lock removes them.
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
from pipeline.store.lock_files import open_locked, wait_for_lock
from pipeline.store.real_paths import make_folder, open_file, refuse_links

_FULL = {errno.ENOSPC, errno.EDQUOT}
_TOO_MANY = {errno.EMFILE, errno.ENFILE}


def no_room(path: Path, *, is_limit: bool) -> StoreError:
    """Return the error that a file cannot grow, because of a limit of this process or because the disk is full."""
    if is_limit:
        return StoreError(
            f"{path} would be too large for this process; raise the limit (ulimit -f) and repeat the command"
        )
    return StoreError(f"disk full while writing {path}; free some space and repeat the command")


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the body into a StoreError or UsageError of one line that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in {*_FULL, errno.EFBIG}:
            raise no_room(path, is_limit=error.errno == errno.EFBIG) from error
        if error.errno in _TOO_MANY:
            message = f"too many files are open to write {path}; raise the limit (ulimit -n) and repeat the command"
            raise StoreError(message) from error
        if isinstance(error, NotADirectoryError):
            raise UsageError(f"cannot write {path}: one of its folders is a file; choose another --out") from error
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def _replace(path: Path) -> Iterator[Path]:
    with clear_errors(path):
        make_folder(path.parent)
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
    """Yield a file to write, which replaces `path` if the body succeeds."""
    with _replace(path) as temporary, temporary.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def atomic_write(path: Path, data: bytes) -> None:
    """Replace `path` by `data` durably; readers see either the old file or the new one."""
    with atomic_file(path) as file:
        file.write(data)


def write_json(path: Path, tree: Any) -> None:
    """Write `tree` as JSON, indented and with sorted keys, so that equal values give equal bytes."""
    atomic_write(
        path, orjson.dumps(tree, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    )


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder to build in, which replaces `path` if the body succeeds and is removed otherwise.

    A kill between the two renames at the end leaves `path` absent, never mixed. Only one process builds at a time;
    another gets a StoreError. The body may write with anything (pyarrow, a JVM): all is synced before the rename.
    """
    refuse_links(path)
    building = path.with_name(path.name + ".incomplete")
    with growing_folder(building, wait=False) as install:
        empty_folder(building)
        try:
            yield building
            install(path)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise


@contextmanager
def growing_folder(building: Path, *, wait: bool = True) -> Iterator[Callable[[Path], None]]:
    """Open a folder that keeps its content if the body fails or is killed, so that the next process can continue.

    Yields a function that moves the folder to its final path. If another process is building in it, wait for that
    process, or raise StoreError if `wait` is false.
    """

    def lock(handle: int) -> None:
        if wait:
            wait_for_lock(handle, fcntl.LOCK_EX, building)
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(f"another process is building {building}; wait until it is done") from error

    with clear_errors(building):
        missing_folders = [folder for folder in (building, *building.parents) if not folder.exists()]
        handle = open_locked(building, os.O_RDONLY, lock, building)
        try:
            yield lambda path: _install(building, path)
        finally:
            with suppress(OSError):  # `rmdir` fails if something was built that the next process can use
                for folder in missing_folders or [building]:
                    folder.rmdir()
            os.close(handle)


def _install(building: Path, path: Path) -> None:
    refuse_links(path)
    old = path.with_name(path.name + ".old")
    _sync_tree(building)
    _delete(old)
    if path.exists():
        path.rename(old)
    building.rename(path)
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def empty_folder(folder: Path, keep: Container[str] = ()) -> None:
    """Remove everything in a folder except the names in `keep`."""
    with clear_errors(folder):
        refuse_links(folder)
        for path in folder.iterdir():
            if path.name not in keep:
                _delete(path)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove(path: Path) -> None:
    with clear_errors(path):
        refuse_links(path.parent)
        path.unlink(missing_ok=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder from `growing_folder`. If this is killed, `discard_unfinished` removes what is left."""
    with clear_errors(folder):
        refuse_links(folder)
        leaving = folder.with_name(folder.name + ".incomplete")
        folder.rename(leaving)
    shutil.rmtree(leaving, ignore_errors=True)


def discard_unfinished(folder: Path, pattern: str) -> None:
    """Remove the folders that `growing_folder` has left and in which no process is building."""
    refuse_links(folder)
    for building in folder.glob(f"{pattern}.incomplete"):
        with suppress(StoreError, OSError):
            if building.is_symlink():
                building.unlink()
                continue
            with growing_folder(building, wait=False):
                empty_folder(building)


def checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def make_temporary_folder(owner: object) -> Path:
    """Create a temporary folder that is removed when `owner` is garbage collected."""
    path = Path(tempfile.mkdtemp(prefix="digsite-")).resolve()
    weakref.finalize(owner, shutil.rmtree, path, ignore_errors=True)
    return path


def find_folder(path: Path) -> Path:
    """Return the folder from `atomic_folder`, under its old name if a kill came between the two renames."""
    old = path.with_name(path.name + ".old")
    return old if old.exists() and not path.exists() else path


def link_or_copy(source: Path, target: Path) -> None:
    """Create `target` as a hard link to `source`, or as a copy if the file system cannot link."""
    with clear_errors(target):
        make_folder(target.parent)
        try:
            target.hardlink_to(source)
        except OSError:
            with source.open("rb") as original, atomic_file(target) as copy:
                shutil.copyfileobj(original, copy)


def link(path: Path, target: str) -> None:
    """Point the symbolic link `path` to `target` (relative to the link's folder), atomically."""
    if path.exists() and not path.is_symlink():
        raise StoreError(f"{path} is in the way of a link; move it elsewhere")
    with _replace(path) as temporary:
        temporary.symlink_to(target)


def sweep(folder: Path) -> None:
    """Undo what killed writers left in `folder` (not below it). The caller must hold the lock of the folder."""
    for old in folder.glob("*.old"):
        if not old.is_symlink() and not os.path.lexists(old.with_suffix("")):
            old.rename(old.with_suffix(""))
    discard_unfinished(folder, "*")
    for stale in [*folder.glob(".*.tmp"), *folder.glob("*.old")]:
        with suppress(OSError):
            _delete(stale)


class Appender:
    """An append-only file of lines. Each line is one write, so that a kill can tear only the last one.

    `synced` lines survive a crash of the machine; a sync takes 0.25 to several milliseconds, and all callers wait.
    Opening the file cuts off a torn last line; a failed write is cut off at once. Appending to a file that was removed
    or replaced raises StoreError, since the lines would be lost on close.
    """

    def __init__(self, path: Path, *, synced: bool = True) -> None:
        self.path, self._synced = path, synced
        with clear_errors(path):
            make_folder(path.parent)
            self._handle = open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self.size = self._cut_torn_line()
            sync_folder(path.parent)

    def append(self, line: bytes) -> int:
        """Write `line` and a newline, and return its offset. If it raises StoreError, the file is unchanged."""
        offset = self.size
        data = line + b"\n"
        with clear_errors(self.path):
            if not os.path.samestat(self.path.lstat(), os.fstat(self._handle)):
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

    def _cut_torn_line(self) -> int:
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


def utf8_path(path: Path) -> str:
    """Return the path as Arrow and polars need it: they take every path for UTF-8, whatever the locale is."""
    return os.fsencode(path).decode(errors="surrogateescape")
