"""A `.json` file: an array of rows, read one at a time, or one row in each line.

Such a file is often a settings file and not a corpus, so it is ignored beside files of another kind.
"""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from pipeline.corpus.readers import jsonl
from pipeline.corpus.readers.base import LONGEST, PACKED, Reader, ReadLimits, Row, chunks
from pipeline.errors import CorpusError

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{},"]', re.DOTALL)
"""A string, a mark, or the beginning of a string that continues in the next chunk."""


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    stream, head = chunks(path, limits), b""
    while not head and (chunk := next(stream, b"")):
        head = chunk.lstrip()
    if not head.startswith(b"["):
        if head.partition(b"\n")[0].strip() == b"{":
            raise CorpusError(f"{path}: holds one JSON object; give an array of objects, or one object a line")
        yield from jsonl.read(path, limits)
        return
    for number, item in enumerate(_items(path, chain([head], stream)), 1):
        if item is None:
            yield Row(f"item {number}", str(number), {}, f"longer than {LONGEST >> 20} MiB")
        else:
            yield jsonl.row(f"item {number}", str(number), item)


def _items(path: Path, stream: Iterator[bytes]) -> Iterator[bytes | None]:
    """Yield the items of an array as JSON; None for an item beyond `LONGEST`."""
    buffer, start, position, depth, too_long = b"", 0, 0, 0, False
    for chunk in stream:
        buffer, position, start = buffer[start:] + chunk, position - start, 0
        for token in _TOKEN.finditer(buffer, position):
            mark, position = token[0], token.end()
            if mark == b'"':
                position = token.start()
                break
            if mark in (b",", b"]") and depth == 1:
                item = buffer[start : token.start()].strip()
                if item or too_long:
                    yield None if too_long else item
                start, too_long = position, False
            if mark in (b"[", b"{"):
                start = position if depth == 0 else start
                depth += 1
            elif mark in (b"]", b"}"):
                depth = max(0, depth - 1)
        else:
            position = len(buffer)
        if len(buffer) - position > LONGEST:
            raise CorpusError(f"{path}: holds a text longer than {LONGEST >> 20} MiB; give one object a line")
        if len(buffer) - start > LONGEST:
            start, too_long = position, True
    if depth:
        raise CorpusError(f"{path}: its array is not closed; is it complete?")
    if item := buffer[start:].strip():
        yield item


READER = Reader(read=read, suffixes=tuple(f".json{packed}" for packed in PACKED))
