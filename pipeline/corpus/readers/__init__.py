"""Readers turn a source into rows. The directory is the registry: one module per reader, whose name is the id.

A reader module has `SUFFIXES` (the file names that it reads) and `read(path, limits)`.
"""

from collections.abc import Iterator
from pathlib import Path

from pipeline import registry
from pipeline.corpus.readers.base import Reader, ReadLimits, Row, of_shards
from pipeline.corpus.readers.folder import ENDINGS
from pipeline.corpus.unread import unread
from pipeline.corpus.walking import files, shown, walked
from pipeline.errors import CorpusError

TAKEN = (
    "a .jsonl, .ndjson, .csv or .tsv file (also .gz, .zst, .xz), a .parquet file, a folder of one of these kinds, "
    "a .txt, .md or .html file, a folder of such texts, hf:ORG/NAME, "
    "or lucene:PATH"
)
"""What a corpus can be, in words."""
TEXTS = ("folder", "html", "markdown", "text")
"""Readers of files that are each one document, whose parts have no names."""
_NOTES = ("readme", "license", "licence", "notice")


def for_path(path: Path) -> str:
    """The name of the reader that reads `path`. Raises CorpusError, with what can be read, where there is none."""
    suffixes = {name: registry.load("readers", name).SUFFIXES for name in registry.names("readers")}

    def kind(file: Path) -> str:
        return next((name for name in suffixes if file.name.lower().endswith(suffixes[name])), "")

    if not path.is_dir():
        if not (found := kind(path)):
            raise CorpusError(f"{path}: no reader for it; give {TAKEN}")
        return found
    kinds: set[str] = set()
    for file in walked(path):
        # Beside the shards of a data set lies its card.
        if file.stem.lower() not in _NOTES:
            kinds |= {"folder" if file.suffix.lower() in ENDINGS else kind(file)} - {"", "html"}
        # Tables lie beside texts as attachments.
        kinds -= {"csv"} if "folder" in kinds else set()
        if len(kinds) > 1:  # at once: somebody may have named their home
            raise CorpusError(f"{path}: holds files of several kinds; give {TAKEN}")
    return kinds.pop() if kinds else "folder"


def skipped(name: str, path: Path) -> dict[str, int]:
    """The files of a folder that the reader passes over, counted by ending; of anything else, none."""
    endings = ENDINGS if name == "folder" else registry.load("readers", name).SUFFIXES
    return unread(path, endings) if endings and path.is_dir() else {}


def rows(name: str, path: Path, limits: ReadLimits) -> Iterator[Row]:
    """All rows of `path`; those of a folder of shards file by file. Links to shards are followed, since the Hub's cache
    is made of them.
    """
    reader: Reader = registry.load("readers", name)
    if not (reader.SUFFIXES and path.is_dir()):
        return reader.read(path, limits)
    found = files(path, reader.SUFFIXES)
    shards = ((shown(file.relative_to(path).as_posix()), reader.read(file, limits)) for file in found)
    return of_shards(path, shards, limits)
