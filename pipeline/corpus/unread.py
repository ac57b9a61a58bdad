"""Files of a folder that no reader takes: counted by their ending, with what would make them readable."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pipeline.corpus.walking import shown, walked

BESIDE = "corpus.toml"
"""What a folder says of itself; it is read, though not as a text."""
_TO_MARKDOWN = "convert them to Markdown with pandoc"
_REMEDIES = {
    ".pdf": "convert them with docling or pdftotext",
    **dict.fromkeys((".docx", ".pptx"), "convert them with docling or pandoc"),
    **dict.fromkeys((".doc", ".ppt", ".rtf"), "convert them with LibreOffice"),
    **dict.fromkeys((".odt", ".epub", ".rst", ".adoc", ".org", ".tex", ".wiki", ".mediawiki"), _TO_MARKDOWN),
    **dict.fromkeys((".csv", ".tsv"), "a table is a corpus of its own; name the file"),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save them as CSV, and name that file"),
    ".json": "write one object a line, as .jsonl",
    **dict.fromkeys((".html", ".htm", ".xhtml"), "to read them: pip install 'digsite[html]'"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".gz", ".bz2", ".xz", ".zst"), "unpack them"),
}


def unread(folder: Path, endings: tuple[str, ...]) -> dict[str, int]:
    """How many files have none of the endings, by the one that they have."""
    others = (path for path in walked(folder) if not path.name.lower().endswith(endings) and path.name != BESIDE)
    return dict(Counter(shown(path.suffix).lower() or "without an ending" for path in others))


def in_words(counts: Mapping[str, int]) -> str:
    """`6 .pdf skipped: convert them with docling or pdftotext; 3 .png, 1 .mp3 skipped`; empty where nothing was."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    known = [f"{count:,} {end} skipped: {_REMEDIES[end]}" for end, count in ranked if end in _REMEDIES]
    others = ", ".join(f"{count:,} {end}" for end, count in ranked if end not in _REMEDIES)
    return "; ".join([*known, *([f"{others} skipped"] if others else [])])
