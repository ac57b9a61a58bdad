"""What a corpus is called, by the name or path that its user gave."""

import re
from pathlib import Path

ADDRESSED = re.compile(r"(hf|lucene):(.*)", re.DOTALL)
"""A corpus whose reader is asked for by name, and the address that this reader takes."""
_FORMAT = re.compile(r"\.(?:jsonl|ndjson|json|csv|tsv|parquet)(?:\.(?:gz|bz2|zst|xz))?$", re.IGNORECASE)


def identity(name_or_path: str) -> str:
    """Its last part without the ending of a file of rows: wherever it lies, and however it is packed."""
    return _FORMAT.sub("", _last(name_or_path))


def slug(name_or_path: str) -> str:
    """A name for the corpus: of a path its last part, up to the first dot or `@`, in the letters of names."""
    last = re.split(r"[.@]", _last(name_or_path))[0]
    return re.sub(r"[^a-z0-9_-]+", "-", last.lower()).strip("-_")[:64] or "corpus"


def _last(name_or_path: str) -> str:
    return Path(ADDRESSED.sub(r"\2", name_or_path)).name
