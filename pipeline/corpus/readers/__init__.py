"""Readers turn a source into rows. The directory is the registry: one module per reader, whose name is the id.

A module defines one `Reader` (`base.py`).
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pipeline import registry
from pipeline.corpus.readers import folder, wikiextractor
from pipeline.corpus.readers.base import PACKED, IsDocument, ReadLimits, Row, chunks, load_reader, of_shards
from pipeline.corpus.unreadable_files import NOTES, count_unread, in_words
from pipeline.corpus.walking import printable, walk
from pipeline.errors import CorpusError

TAKEN = (
    "a .jsonl, .ndjson, .json, .csv or .tsv file (also .gz, .bz2, .zst, .xz), a .parquet file, a folder of one of "
    "these kinds or of WikiExtractor's, a document (.txt, .md, .mdx, .rst, .html, .pdf, .docx, .pptx, .epub, .ipynb, "
    ".xml in JATS or DocBook), a folder of documents, hf:ORG/NAME, or lucene:PATH"
)
"""A description of the possible sources of a corpus."""
TEXTS = ("folder", *folder.READERS)
"""Readers of files that are one document each, without named fields."""
DECODED = (*TEXTS, "wikiextractor")
"""Readers that decode entities of HTML themselves, if their sources have any."""
_NEARLY_ALL = 0.9
_HEAD = 1 << 16
"""The number of bytes from which the kind of a file is recognised."""
_LOOKED_AT = 10_000
"""The number of files from which the kind of a folder with several kinds is recognised."""


def for_path(path: Path) -> str:
    """Return the name of the reader for `path`. Raises CorpusError, with the kinds that can be read, if none fits."""
    if not path.is_dir():
        if not (reader := kind_of(path)):
            if path.suffix.lower() in PACKED and path.is_file():
                next(chunks(path, ReadLimits()), b"")  # a damaged file raises its own error
            remedy = in_words({path.suffix.lower(): 1}).partition(": ")[2]
            raise CorpusError(f"{path}: no reader for it; {f'{remedy}, or ' if remedy else ''}give {TAKEN}")
        return reader
    kinds: dict[str, list[Path]] = {}
    for number, file in enumerate(walk(path)):
        name = "folder" if folder.is_read(file) else kind_of(file)
        # Skip the card beside the shards of a data set, and documents for whose kind a package is missing.
        if name not in {"", *folder.READERS} and file.stem.lower() not in NOTES:
            kinds.setdefault(name, []).append(file)
        if number >= _LOOKED_AT and len(kinds) > 1:  # the user may have named their home folder
            break
    return _choose_kind(path, kinds)


def kind_of(file: Path) -> str:
    """Return the name of the reader of a file, by its name or else by its content; empty if there is none."""
    if wikiextractor.is_extracted(file):
        return "wikiextractor"
    name = file.name.lower()
    return next((reader for reader, suffixes in _suffixes().items() if name.endswith(suffixes)), "") or _sniff(file)


@cache
def _suffixes() -> dict[str, tuple[str, ...]]:
    return {name: load_reader(name).suffixes for name in registry.names("readers")}


def _sniff(file: Path) -> str:
    """Return the reader of a file whose name has no suffix, or only that of a compression."""
    if file.suffix.lower() not in PACKED:
        return ""
    try:
        # The files of /proc have no size, and reading some of them blocks for ever.
        if not file.is_file() or not file.stat().st_size:
            return ""
        head = next(chunks(file, ReadLimits()), b"").lstrip()[:_HEAD]
    except (OSError, CorpusError):
        return ""
    line = head.partition(b"\n")[0].rstrip()
    if head.startswith(b"PAR1"):
        return "parquet"
    if line.startswith(b"["):
        return "json"
    # A line with a brace alone begins a settings file, not a row.
    return "jsonl" if line.startswith(b"{") and line != b"{" else ""


def _choose_kind(path: Path, kinds: dict[str, list[Path]]) -> str:
    """Return the kind of nearly all bytes of a folder. Raises CorpusError, naming files, if there is none."""
    if len(kinds) > 1:  # JSON files beside other files are settings
        kinds.pop("json", None)
    if "folder" in kinds:  # tables beside texts are attachments
        kinds.pop("csv", None)
    # A broken link has no size.
    sizes = {name: sum(file.stat().st_size for file in files if file.exists()) for name, files in kinds.items()}
    most = max(sizes, key=lambda name: sizes[name], default="folder")
    if len(kinds) > 1 and sizes[most] <= _NEARLY_ALL * sum(sizes.values()):
        beside = " beside ".join(
            printable(files[0].name) + (f" and {len(files) - 1:,} more" if files[1:] else "")
            for files in kinds.values()
        )
        raise CorpusError(f"{path}: holds files of several kinds; give {TAKEN}; here lies {beside}")
    return most


def count_skipped(name: str, path: Path) -> dict[str, int]:
    """Count the files of a folder that the reader does not read, by suffix; none if the source is not a folder."""
    if not path.is_dir() or not (name in {"folder", "wikiextractor"} or load_reader(name).suffixes):
        return {}
    return count_unread(path, folder.is_read if name == "folder" else lambda file: kind_of(file) == name)


def rows(name: str, path: Path, limits: ReadLimits, is_document: IsDocument | None = None) -> Iterator[Row]:
    """Yield all rows of `path`, file by file if it is a folder of shards.

    Links to shards are followed, since the Hub's cache consists of them.

    Args:
        name: the reader.
        path: the source.
        limits: the limits of the corpus.
        is_document: finds rows inside an object, if the reader does.
    """
    reader = load_reader(name)
    if not (reader.suffixes and path.is_dir()):
        return reader.rows(path, limits, is_document)
    files = (file for file in walk(path) if kind_of(file) == name)
    shards = ((printable(file.relative_to(path).as_posix()), reader.rows(file, limits, is_document)) for file in files)
    return of_shards(path, shards, limits)
