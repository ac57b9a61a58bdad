"""The files of a folder, and what in it is no part of a corpus."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import CorpusError

OURS = ".digsite"
"""A file that marks a folder of outputs: it is no part of a corpus that it lies in."""
_ROWS = tuple(
    f".{kind}{packed}"
    for kind in ("jsonl", "ndjson", "json", "csv", "tsv", "parquet")
    for packed in ("", ".gz", ".bz2", ".zst", ".xz")
)
_CORPUS, _QUESTIONS = (
    {"corpus", "collection", "documents", "docs", "passages"},
    {"queries", "questions", "topics", "qrels"},
)
"""Words in the names of what holds a benchmark's documents, and of what holds its questions and judgements."""
_INSTALLED = re.compile(
    r"node_modules|bower_components|(?:site|dist)-packages|__pycache__|__macosx|.*\.(?:egg|dist)-info", re.IGNORECASE
)
_MARKERS = ("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG")
"""What lies in a virtual environment or a cache, whatever its name is."""
_LICENCE = re.compile(
    r"(?:(?:un)?licen[cs]es?|copying|notices?|third[-_]party[-_](?:notices?|licen[cs]es?))(?:[-_.][\w.+-]+)?",
    re.IGNORECASE,
)


def walked(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, at any depth, by path. Hidden ones and those of `left_out` are no part of it."""
    return (path for path, reason in _scan(folder) if not reason)


def left_out(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files and folders that `walked` leaves out, each with the reason."""
    return ((path, reason) for path, reason in _scan(folder) if reason)


def _scan(folder: Path) -> Iterator[tuple[Path, str]]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted((e for e in listing if not e.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as error:
        raise CorpusError(f"{folder}: cannot be listed ({error})") from error
    corpora = _benchmark_corpora(entries)
    for entry in entries:
        if reason := _reason(entry, corpora):
            yield Path(entry), reason
        elif entry.is_dir(follow_symlinks=False):
            if not os.path.exists(Path(entry, OURS)):  # noqa: PTH110 - Path's raises where it may not be seen
                yield from _scan(Path(entry))
        elif not os.path.isdir(entry):  # noqa: PTH112 - Path's raises where a link may not be followed
            # A link to a folder may lead anywhere, in a circle too.
            yield Path(entry), ""


def _benchmark_corpora(entries: list[os.DirEntry[str]]) -> list[str]:
    """Return the names that hold the documents of a benchmark, if questions or judgements lie beside them."""
    if not any(is_questions(entry.name) and _holds_rows(entry) for entry in entries):
        return []
    return [entry.name for entry in entries if is_corpus(entry.name) and _holds_rows(entry)]


def is_corpus(name: str) -> bool:
    """Return whether a file, folder or configuration of a benchmark holds its documents, by its name."""
    return not _CORPUS.isdisjoint(_words(name))


def is_questions(name: str) -> bool:
    """Return whether a file, folder or configuration of a benchmark holds questions or judgements, by its name."""
    return not _QUESTIONS.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    return re.split("[-_.]", name.lower())


def _holds_rows(entry: os.DirEntry[str]) -> bool:
    if not entry.is_dir(follow_symlinks=False):
        return entry.name.lower().endswith(_ROWS)
    try:
        return any(name.lower().endswith(_ROWS) for name in os.listdir(entry))  # noqa: PTH208 - names are enough
    except OSError:
        return False


def _reason(entry: os.DirEntry[str], corpora: list[str]) -> str:
    if corpora and entry.name not in corpora and _holds_rows(entry):
        return f"part of a benchmark beside {corpora[0]}"
    if _LICENCE.fullmatch(entry.name) and not entry.name.lower().endswith(_ROWS):
        return "licence"
    if not entry.is_dir(follow_symlinks=False):
        return ""
    markers = [*_MARKERS, *(("modules.txt", "autoload.php") if entry.name == "vendor" else ())]
    is_installed = _INSTALLED.fullmatch(entry.name) or any(os.path.exists(Path(entry, name)) for name in markers)  # noqa: PTH110
    return "installed packages or a cache" if is_installed else ""


def shown(name: str) -> str:
    """Return the name of a file, in which bytes that are no UTF-8 stand as `\\xff`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def files(folder: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    """Yield those with one of the endings, in the order of their paths."""
    return (path for path in walked(folder) if path.name.lower().endswith(endings))
