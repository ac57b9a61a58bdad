"""Protection against links in the folders that the product writes to.

A folder of outputs can come from another machine and contain links. So `real_root` follows the links of a path that the
user has named, once, and no link below it is followed.
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
    """Return `path`, with links resolved if it is a link or lies behind one."""
    return path.resolve() if _find_links(path) else path


def refuse_links(path: Path) -> None:
    """Raise UsageError if `path` is a symbolic or hard link, or lies behind one. It must lie below a `real_root`."""
    for link in _find_links(path):
        raise UsageError(f"{link} is a symbolic link, and nothing is written through one; remove it and repeat")
    with suppress(FileNotFoundError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            raise UsageError(f"{path} is a hard link, and another file would change with it; replace it by a copy")


def make_folder(folder: Path) -> None:
    refuse_links(folder)
    folder.mkdir(parents=True, exist_ok=True)


def open_file(path: Path, flags: int, mode: int = 0o666) -> int:
    refuse_links(path)
    return os.open(path, flags | os.O_NOFOLLOW, mode)


def _find_links(path: Path) -> list[Path]:
    absolute = path.absolute()
    return [ancestor for ancestor in (absolute, *absolute.parents) if ancestor.is_symlink()]
