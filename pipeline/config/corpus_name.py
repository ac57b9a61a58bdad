"""Names of a corpus, derived from the name or path in the settings."""

import re
from pathlib import Path

ADDRESSED = re.compile(r"(hf|lucene):(.*)", re.DOTALL)
"""A corpus with an explicit reader, and that reader's address."""
_FORMAT = re.compile(r"\.(?:jsonl|ndjson|json|csv|tsv|parquet)(?:\.(?:gz|bz2|zst|xz))?$", re.IGNORECASE)


def identity(name_or_path: str) -> str:
    """Return the last part of the path without its format, so that moving or compressing a corpus changes nothing."""
    return _FORMAT.sub("", _last_part(name_or_path))


def slug(name_or_path: str) -> str:
    """Return a folder name: the last part of the path up to the first dot or `@`, in lower-case letters."""
    stem = re.split(r"[.@]", _last_part(name_or_path))[0]
    return re.sub(r"[^a-z0-9_-]+", "-", stem.lower()).strip("-_")[:64] or "corpus"


def _last_part(name_or_path: str) -> str:
    return Path(ADDRESSED.sub(r"\2", name_or_path)).name
