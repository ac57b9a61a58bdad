"""A `.txt` file as one document, whose title is the name of the file."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.corpus.html_entities import decode_entities
from pipeline.corpus.readers.base import Reader, ReadLimits, Row, document_row


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    yield document_row(path, limits, lambda source: ("", decode_entities(source), []))


READER = Reader(read=read, suffixes=(".txt",), kind="text")
