"""Readers turn a file or folder into rows. The directory is the registry: one module per reader, whose name is the id.

A reader module has `SUFFIXES` (the file names that it reads; a folder has none) and `read(path, limits)`.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import CorpusError
from pipeline.readers import base
from pipeline.readers.base import Limits, Reader, Row, files, walked
from pipeline.readers.folder import ENDINGS

TAKEN = (
    "a .jsonl or .ndjson file (also .gz, .zst, .xz), a .parquet file, a folder of one of these kinds, or a folder of "
    ".txt and .md files"
)
"""What a corpus can be, in words."""
_ASIDE = ("readme", "license", "licence", "notice")


def names() -> list[str]:
    """Every reader there is."""
    here = Path(__file__).parent
    return sorted(p.stem for p in here.glob("*.py") if p.stem not in ("__init__", "base"))


def load(name: str) -> Reader:
    """The reader of that name."""
    if name not in names():
        raise CorpusError(f"no reader '{name}'; known: {', '.join(names())}")
    return importlib.import_module(f"pipeline.readers.{name}")


def for_path(path: Path) -> str:
    """The name of the reader that reads `path`. Raises CorpusError, with what can be read, where there is none."""
    suffixes = {name: load(name).SUFFIXES for name in names()} | {"folder": ENDINGS}

    def kind(file: Path) -> str:
        return next((name for name in suffixes if file.name.lower().endswith(suffixes[name])), "")

    if not path.is_dir():
        if (found := kind(path)) in ("", "folder"):
            raise CorpusError(f"{path}: no reader for it; give {TAKEN}")
        return found
    kinds: set[str] = set()
    for file in walked(path):
        # Beside the shards of a data set lies its card.
        if file.stem.lower() not in _ASIDE:
            kinds |= {kind(file)} - {""}
        if len(kinds) > 1:  # at once: somebody may have named their home
            raise CorpusError(f"{path}: holds files of several kinds; give {TAKEN}")
    return kinds.pop() if kinds else "folder"


def skipped(name: str, path: Path) -> dict[str, int]:
    """The files of a folder that the reader passes over, counted by ending; of a file, none."""
    return base.skipped(path, load(name).SUFFIXES or ENDINGS) if path.is_dir() else {}


def rows(name: str, path: Path, limits: Limits) -> Iterator[Row]:
    """All rows of `path`; those of a folder of shards file by file. Links to shards are followed, since the Hub's cache
    is made of them.
    """
    reader, characters = load(name), 0
    if not (reader.SUFFIXES and path.is_dir()):
        yield from reader.read(path, limits)
        return
    for file in files(path, reader.SUFFIXES):
        shard = file.relative_to(path).as_posix()
        for row in reader.read(file, limits):
            # A reader minds its own file alone.
            characters += sum(len(value) for value in row.values.values() if isinstance(value, str))
            if characters > limits.bytes:
                raise CorpusError(f"{path}: more than {limits.bytes} bytes; raise limits.bytes in its manifest")
            yield row._replace(place=f"{shard}, {row.place}", key=f"{shard}:{row.key}")
