"""Lists the files of a folder, and recognises those that are not part of a corpus."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import CorpusError

OURS = ".digsite"
"""A file that marks a folder of outputs, which is not part of a corpus that contains it."""
_ROWS = tuple(
    f".{kind}{packed}"
    for kind in ("jsonl", "ndjson", "json", "csv", "tsv", "parquet")
    for packed in ("", ".gz", ".bz2", ".zst", ".xz")
)
_CORPUS = {"corpus", "collection", "documents", "docs", "passages", "psgs"}
_QUESTIONS = {
    *("queries", "query", "questions", "question", "topics", "claims", "qa", "qas", "qrels", "examples"),
    *("train", "dev", "test", "validation"),
}
"""Words in the names of files and folders with a benchmark's documents, and with its questions and judgements."""
_TEMPORARY = (".", "~$")
"""How the names of hidden files begin, and those that Office writes beside an open document."""
_INSTALLED = re.compile(
    r"node_modules|bower_components|(?:site|dist)-packages|__pycache__|__macosx|.*\.(?:egg|dist)-info", re.IGNORECASE
)
_MARKERS = ("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG")
"""Files in every virtual environment or cache, whatever its name is."""
_LICENCE = re.compile(
    r"(?:(?:un)?licen[cs]es?|copying|notices?|third[-_]party[-_](?:notices?|licen[cs]es?))(?:[-_.][\w.+-]+)?",
    re.IGNORECASE,
)


def walk(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder, at any depth, sorted by path, without hidden ones and those of `left_out`."""
    return (path for path, reason in _scan(folder) if not reason)


def left_out(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files and folders that `walk` leaves out, each with the reason."""
    return ((path, reason) for path, reason in _scan(folder) if reason)


def _scan(folder: Path) -> Iterator[tuple[Path, str]]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted((e for e in listing if not e.name.startswith(_TEMPORARY)), key=lambda entry: entry.name)
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
            # Links to folders are not followed: they may lead anywhere, even in circles.
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
    return not is_corpus(name) and not _QUESTIONS.isdisjoint(_words(name))


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


def printable(name: str) -> str:
    """Return the name of a file, with bytes that are not UTF-8 escaped as `\\xff`."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
