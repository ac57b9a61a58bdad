"""A `.txt` file: one document, whose title is the file's name."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.corpus.readers.base import ReadLimits, Row, stem, text_of

SUFFIXES: tuple[str, ...] = (".txt",)


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    try:
        yield Row(path.name, path.name, {"title": stem(path), "text": text_of(path, limits)})
    except ValueError as error:
        yield Row(path.name, path.name, {}, str(error))
