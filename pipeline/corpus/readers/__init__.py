"""Readers turn a source into rows. The directory is the registry: one module per reader, whose name is the id.

A reader module has `SUFFIXES` (the file names that it reads) and `read(path, limits)`.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pipeline import registry
from pipeline.corpus.readers import wikiextractor
from pipeline.corpus.readers.base import PACKED, Reader, ReadLimits, Row, chunks, of_shards
from pipeline.corpus.readers.folder import ENDINGS
from pipeline.corpus.unreadable_files import NOTES, in_words, unread
from pipeline.corpus.walking import shown, walked
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
_HEAD = 1 << 16
"""Bytes of a file that show what it holds."""
_LOOKED_AT = 10_000
"""Files of a folder of several kinds that show what it is."""


def for_path(path: Path) -> str:
    """Return the name of the reader that reads `path`. Raises CorpusError, with what can be read, if there is none."""
    if not path.is_dir():
        if not (reader := kind_of(path)):
            remedy = in_words({path.suffix.lower(): 1}).partition(": ")[2]
            raise CorpusError(f"{path}: no reader for it; {f'{remedy}, or ' if remedy else ''}give {TAKEN}")
        return reader
    kinds: dict[str, list[Path]] = {}
    for number, file in enumerate(walked(path)):
        # Beside the shards of a data set lies its card.
        name = "folder" if file.suffix.lower() in ENDINGS else kind_of(file)
        if name not in {"", "html"} and file.stem.lower() not in NOTES:
            kinds.setdefault(name, []).append(file)
        if number >= _LOOKED_AT and len(kinds) > 1:  # somebody may have named their home
            break
    return _chosen(path, kinds)


def kind_of(file: Path) -> str:
    """Return the name of the reader of a file: by its name, else by its content; empty where there is none."""
    if wikiextractor.is_extracted(file):
        return "wikiextractor"
    name = file.name.lower()
    return next((reader for reader, endings in _suffixes().items() if name.endswith(endings)), "") or _looked_into(file)


@cache
def _suffixes() -> dict[str, tuple[str, ...]]:
    return {name: registry.load("readers", name).SUFFIXES for name in registry.names("readers")}


def _looked_into(file: Path) -> str:
    """Return the reader of a file whose name says nothing, or no more than how it is packed."""
    if file.suffix.lower() not in PACKED:
        return ""
    try:
        # The files of /proc have no size, and reading some of them waits for ever.
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
    # A brace alone opens a setting, and no row.
    return "jsonl" if line.startswith(b"{") and line != b"{" else ""


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
    """Count the files of a folder that the reader passes over, by ending; of anything else, none."""
    if not path.is_dir() or not (name in {"folder", "wikiextractor"} or registry.load("readers", name).SUFFIXES):
        return {}
    return unread(path, lambda file: file.suffix.lower() in ENDINGS if name == "folder" else kind_of(file) == name)


def rows(name: str, path: Path, limits: ReadLimits) -> Iterator[Row]:
    """Yield all rows of `path`; those of a folder of shards file by file. Links to shards are followed, since the Hub's
    cache is made of them.
    """
    reader: Reader = registry.load("readers", name)
    if not (reader.SUFFIXES and path.is_dir()):
        return reader.read(path, limits)
    files = (file for file in walked(path) if kind_of(file) == name)
    shards = ((shown(file.relative_to(path).as_posix()), reader.read(file, limits)) for file in files)
    return of_shards(path, shards, limits)
