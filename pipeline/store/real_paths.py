"""Which files and folders the product may write: its own, and never what a link leads to.

A folder of outputs can come from elsewhere and hold links. So `real_root` follows the links of a path that the user has
named, once, and no link below it is followed.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from pipeline.errors import UsageError


def without_dots(path: Path) -> Path:
    """Return the absolute path without `..`, and without following links as `resolve` does."""
    return Path(os.path.normpath(path.absolute()))


def real_root(path: Path) -> Path:
    """Return `path`, or where it leads if it is a link or lies behind one."""
    return path.resolve() if _links(path) else path


def refuse_links(path: Path) -> None:
    """Raise UsageError if `path` is a symbolic or hard link, or lies behind one. It must lie below a `real_root`."""
    for place in _links(path):
        raise UsageError(f"{place} is a symbolic link, and nothing is written through one; remove it and repeat")
    with suppress(FileNotFoundError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            raise UsageError(f"{path} is a hard link, and another file would change with it; replace it by a copy")


def make_folder(folder: Path) -> None:
    """Make a folder and those above it where they are missing."""
    refuse_links(folder)
    folder.mkdir(parents=True, exist_ok=True)


def open_file(path: Path, flags: int, mode: int = 0o666) -> int:
    """Return a handle of the file itself, never of one that a link leads to."""
    refuse_links(path)
    return os.open(path, flags | os.O_NOFOLLOW, mode)


def _links(path: Path) -> list[Path]:
    """Return the symbolic links among the path and the folders above it."""
    absolute = path.absolute()
    return [place for place in (absolute, *absolute.parents) if place.is_symlink()]
