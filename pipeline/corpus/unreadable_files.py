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
    **dict.fromkeys((".doc", ".ppt", ".rtf"), "convert them with LibreOffice"),
    **dict.fromkeys((".odt", ".adoc", ".org", ".tex", ".wiki", ".mediawiki"), _TO_MARKDOWN),
    **dict.fromkeys(_ROWS, "rows of data are a corpus of their own; name the file"),
    **dict.fromkeys((".csv", ".tsv"), "a table is a corpus of its own; name the file"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save them as CSV, and name that file"),
    ".json": "name the file, if it is an array of rows and no setting",
    **dict.fromkeys((".eml", ".msg", ".mbox"), "save them as text or HTML"),
    **dict.fromkeys((".warc", ".wet"), "extract their texts with datatrove or trafilatura"),
    ".xml": "write a JSON object a line for each of their records",
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".gz", ".bz2", ".xz", ".zst"), "unpack them"),
}


_EXTRAS = {
    ".pdf": ("PDF", "pdf"),
    **dict.fromkeys((".docx", ".docm"), ("DOCX", "office")),
    **dict.fromkeys((".pptx", ".pptm"), ("PPTX", "office")),
    **dict.fromkeys((".rst", ".rest"), ("RST", "office")),
    **dict.fromkeys((".html", ".htm", ".xhtml"), ("HTML", "html")),
}
"""Kinds of documents that are read if an extra of this package is installed. They are unread only if it is not."""


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


def describe_unread(counts: Mapping[str, int]) -> list[str]:
    """Return a line for each kind of file that could be read, and one for all others.

    For example `12 PDF files were left out: pip install 'digsite[pdf]'`, `2 .doc files were left out: convert them with
    LibreOffice` and `3 .png, 1 .mp3 skipped`.
    """
    missing, convertible, others = Counter[tuple[str, str]](), list[tuple[int, str, str]](), list[str]()
    for end, count in sorted(counts.items(), key=lambda end_count: (-end_count[1], end_count[0])):
        if end in _EXTRAS:
            missing[_EXTRAS[end]] += count
        elif remedy := _remedy(end):
            convertible.append((count, end, remedy))
        else:
            others.append(f"{count:,} {end}")
    lines = [(count, kind, f"pip install 'digsite[{extra}]'") for (kind, extra), count in missing.most_common()]
    described = [
        f"{count:,} {what} file{'s were' if count > 1 else ' was'} left out: {remedy}"
        for count, what, remedy in [*lines, *convertible]
    ]
    return [*described, *([f"{', '.join(others)} skipped"] if others else [])]


def in_words(counts: Mapping[str, int]) -> str:
    """Return the lines of `describe_unread` as one."""
    return "; ".join(describe_unread(counts))


def _remedy(end: str) -> str:
    end = end.partition(" (")[0]
    rows = next((kind for kind in _ROWS if end.startswith(f"{kind}.")), end)
    return _REMEDIES.get(rows, "")
