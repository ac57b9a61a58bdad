"""Readers turn a file or folder into rows. The directory is the registry: one module per reader, whose name is the id.

A reader module has `SUFFIXES` (the file names that it reads; a folder has none) and `read(path, limits)`.
"""

import importlib
from pathlib import Path

from pipeline.errors import CorpusError
from pipeline.readers.base import Reader


def names() -> list[str]:
    """Every reader there is."""
    here = Path(__file__).parent
    return sorted(p.stem for p in here.glob("*.py") if p.stem not in ("__init__", "base"))


def load(name: str) -> Reader:
    """The reader of that name."""
    if name not in names():
        raise CorpusError(f"no reader '{name}'; known: {', '.join(names())}")
    return importlib.import_module(f"pipeline.readers.{name}")


def for_path(path: Path) -> str:
    """The name of the reader that reads `path`."""
    if path.is_dir():
        return "folder"
    for name in names():
        if path.name.lower().endswith(load(name).SUFFIXES):
            return name
    endings = sorted({suffix for name in names() for suffix in load(name).SUFFIXES})
    raise CorpusError(f"{path}: no reader for it; give a {', '.join(endings)} file, or a folder of text files")
