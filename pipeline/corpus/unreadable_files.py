"""Counts the files of a folder that no reader reads, by suffix, and explains how to make them readable."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline.corpus.walking import left_out, printable, walk

BESIDE = "corpus.toml"
"""The description of a folder, which is read, but not as a text."""
NOTES = ("readme",)
"""Files that describe the data beside them."""
_TO_MARKDOWN = "convert them to Markdown with pandoc"
_ROWS, _TEXTS = (".jsonl", ".ndjson", ".parquet"), (".txt", ".md", ".markdown", ".mdx")
_PACKED = (".gz", ".bz2", ".zst", ".xz")
_REMEDIES = {
    ".pdf": "convert them with docling or pdftotext",
    **dict.fromkeys((".docx", ".pptx"), "convert them with docling or pandoc"),
    **dict.fromkeys((".doc", ".ppt", ".rtf"), "convert them with LibreOffice"),
    **dict.fromkeys((".odt", ".epub", ".rst", ".adoc", ".org", ".tex", ".wiki", ".mediawiki"), _TO_MARKDOWN),
    **dict.fromkeys(_ROWS, "rows of data are a corpus of their own; name the file"),
    **dict.fromkeys((".csv", ".tsv"), "a table is a corpus of its own; name the file"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save them as CSV, and name that file"),
    ".json": "name the file, if it is an array of rows and no setting",
    **dict.fromkeys((".html", ".htm", ".xhtml"), "to read them: pip install 'digsite[html]'"),
    ".ipynb": "convert them with jupyter nbconvert --to markdown",
    **dict.fromkeys((".eml", ".msg", ".mbox"), "save them as text or HTML"),
    **dict.fromkeys((".warc", ".wet"), "extract their texts with datatrove or trafilatura"),
    ".xml": "write a JSON object a line for each of its records",
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".gz", ".bz2", ".xz", ".zst"), "unpack them"),
}


def count_unread(folder: Path, is_read: Callable[[Path], bool]) -> dict[str, int]:
    """Count the files that are not read, by suffix, and the files and folders of `left_out`, by name.

    Rows and texts, which the user may have meant, are shown with the name of the first file.
    """
    firsts, counts = dict[str, str](), Counter[str]()
    for path, reason in left_out(folder):
        counts[f"{printable(path.name)}{'/' if path.is_dir() else ''} ({reason})"] += 1
    for path in walk(folder):
        if not is_read(path) and path.name != BESIDE:
            end = _ending(path)
            counts[end] += 1
            if end.startswith(_ROWS) or (end in _TEXTS and path.stem.lower() not in NOTES):
                firsts.setdefault(end, printable(path.relative_to(folder).as_posix()))
    return {f"{end} ({firsts[end]})" if end in firsts else end: count for end, count in counts.items()}


def _ending(path: Path) -> str:
    suffix = printable(path.suffix).lower()
    suffixes = f"{Path(path.stem).suffix.lower()}{suffix}"
    return suffixes if suffix in _PACKED and suffixes.startswith(_ROWS) else suffix or "without an ending"


def in_words(counts: Mapping[str, int]) -> str:
    """Return for example `6 .pdf skipped: convert them with docling or pdftotext; 3 .png, 1 .mp3 skipped`."""
    ranked = sorted(((count, end, _remedy(end)) for end, count in counts.items()), key=lambda each: (-each[0], each[1]))
    with_remedy = [f"{count:,} {end} skipped: {remedy}" for count, end, remedy in ranked if remedy]
    without_remedy = ", ".join(f"{count:,} {end}" for count, end, remedy in ranked if not remedy)
    return "; ".join([*with_remedy, *([f"{without_remedy} skipped"] if without_remedy else [])])


def _remedy(end: str) -> str:
    end = end.partition(" (")[0]
    rows = next((kind for kind in _ROWS if end.startswith(f"{kind}.")), end)
    return _REMEDIES.get(rows, "")
