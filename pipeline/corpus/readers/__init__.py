"""Readers turn a file or folder into rows. The directory is the registry: one module per reader, whose name is the id.

A reader module has `SUFFIXES` (the file names that it reads; a folder has none) and `read(path, limits)`.
"""

from collections.abc import Iterator
from pathlib import Path

from pipeline import registry
from pipeline.corpus.readers import base
from pipeline.corpus.readers.base import Reader, ReadLimits, Row, files, walked
from pipeline.corpus.readers.folder import ENDINGS
from pipeline.errors import CorpusError

TAKEN = (
    "a .jsonl or .ndjson file (also .gz, .zst, .xz), a .parquet file, a folder of one of these kinds, or a folder of "
    ".txt and .md files"
)
"""What a corpus can be, in words."""
_ASIDE = ("readme", "license", "licence", "notice")


def for_path(path: Path) -> str:
    """The name of the reader that reads `path`. Raises CorpusError, with what can be read, where there is none."""
    suffixes = {name: registry.load("readers", name).SUFFIXES for name in registry.names("readers")} | {
        "folder": ENDINGS
    }

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
    return base.skipped(path, registry.load("readers", name).SUFFIXES or ENDINGS) if path.is_dir() else {}


def rows(name: str, path: Path, limits: ReadLimits) -> Iterator[Row]:
    """All rows of `path`; those of a folder of shards file by file. Links to shards are followed, since the Hub's cache
    is made of them.
    """
    reader: Reader = registry.load("readers", name)
    characters = 0
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
