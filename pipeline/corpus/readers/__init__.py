"""Readers turn a source into rows. The directory is the registry: one module per reader, whose name is the id.

A reader module has `SUFFIXES` (the file names that it reads) and `read(path, limits)`.
"""

from collections.abc import Iterator
from pathlib import Path

from pipeline import registry
from pipeline.corpus.readers import wikiextractor
from pipeline.corpus.readers.base import Reader, ReadLimits, Row, of_shards
from pipeline.corpus.readers.folder import ENDINGS
from pipeline.corpus.unreadable_files import NOTES, in_words, unread
from pipeline.corpus.walking import files, shown, walked
from pipeline.errors import CorpusError

TAKEN = (
    "a .jsonl, .ndjson, .json, .csv or .tsv file (also .gz, .bz2, .zst, .xz), a .parquet file, a folder of one of "
    "these kinds or of WikiExtractor's, a .txt, .md, .mdx or .html file, a folder of such texts, hf:ORG/NAME, "
    "or lucene:PATH"
)
"""What a corpus can be, in words."""
TEXTS = ("folder", "html", "markdown", "text")
"""Readers of files that are each one document, whose parts have no names."""
_NEARLY_ALL = 0.9
_LOOKED_AT = 10_000
"""Files of a folder of several kinds that show what it is."""


def for_path(path: Path) -> str:
    """The name of the reader that reads `path`. Raises CorpusError, with what can be read, where there is none."""
    suffixes = {name: registry.load("readers", name).SUFFIXES for name in registry.names("readers")}

    def kind(file: Path) -> str:
        found = next((name for name in suffixes if file.name.lower().endswith(suffixes[name])), "")
        return "wikiextractor" if wikiextractor.is_extracted(file) else found

    if not path.is_dir():
        if not (found := kind(path)):
            remedy = in_words({path.suffix.lower(): 1}).partition(": ")[2]
            raise CorpusError(f"{path}: no reader for it; {f'{remedy}, or ' if remedy else ''}give {TAKEN}")
        return found
    kinds: dict[str, list[Path]] = {}
    for number, file in enumerate(walked(path)):
        # Beside the shards of a data set lies its card.
        name = "folder" if file.suffix.lower() in ENDINGS else kind(file)
        if name not in {"", "html"} and file.stem.lower() not in NOTES:
            kinds.setdefault(name, []).append(file)
        if number >= _LOOKED_AT and len(kinds) > 1:  # somebody may have named their home
            break
    return _chosen(path, kinds)


def _chosen(path: Path, kinds: dict[str, list[Path]]) -> str:
    """The kind that nearly all of a folder is. Raises CorpusError, naming files, where there is none."""
    if len(kinds) > 1:  # settings lie beside anything
        kinds.pop("json", None)
    if "folder" in kinds:  # tables lie beside texts as attachments
        kinds.pop("csv", None)
    # A broken link has no size.
    sizes = {name: sum(file.stat().st_size for file in files if file.exists()) for name, files in kinds.items()}
    most = max(sizes, key=lambda name: sizes[name], default="folder")
    if len(kinds) > 1 and sizes[most] <= _NEARLY_ALL * sum(sizes.values()):
        beside = " beside ".join(
            shown(files[0].name) + (f" and {len(files) - 1:,} more" if files[1:] else "") for files in kinds.values()
        )
        raise CorpusError(f"{path}: holds files of several kinds; give {TAKEN}; here lies {beside}")
    return most


def skipped(name: str, path: Path) -> dict[str, int]:
    """The files of a folder that the reader passes over, counted by ending; of anything else, none."""
    if name == "wikiextractor":
        return unread(path, wikiextractor.is_extracted) if path.is_dir() else {}
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
