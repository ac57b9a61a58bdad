"""A `.txt` file as one document, whose title is the name of the file."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.corpus.readers.base import ReadLimits, Row, document_row

SUFFIXES: tuple[str, ...] = (".txt",)
KIND = "text"


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    yield document_row(path, limits, lambda source: ("", source, []))
