"""The files of a folder."""

import os
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import CorpusError

OURS = ".digsite"
"""A file that marks a folder of outputs: it is no part of a corpus that it lies in."""


def walked(folder: Path) -> Iterator[Path]:
    """All files of a folder, at any depth, in the order of their paths; hidden ones and our own are no part of it."""
    try:
        with os.scandir(folder) as found:
            entries = sorted((entry for entry in found if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as error:
        raise CorpusError(f"{folder}: cannot be listed ({error})") from error
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if not os.path.exists(Path(entry, OURS)):  # noqa: PTH110 - Path's raises where it may not be seen
                yield from walked(Path(entry))
        elif not os.path.isdir(entry):  # noqa: PTH112 - Path's raises where a link may not be followed
            # A link to a folder may lead anywhere, in a circle too.
            yield Path(entry)


def shown(name: str) -> str:
    """The name of a file, in which bytes that are no UTF-8 stand as `\\xff`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def files(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """Those with one of the endings, in the order of their paths."""
    return (path for path in walked(folder) if path.name.lower().endswith(endings))
