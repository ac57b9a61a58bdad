"""A `.json` file: an array of rows, an object with such an array in it, or one row in each line.

An array is read one row at a time. Such a file is often a settings file and not a corpus, so it is ignored beside files
of another kind.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.corpus.nested_fields import field_names
from pipeline.corpus.readers import jsonl
from pipeline.corpus.readers.base import LONGEST, PACKED, IsDocument, Reader, ReadLimits, Row, chunks, lines
from pipeline.errors import CorpusError

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{},"]', re.DOTALL)
"""A string, a mark, or the beginning of a string that continues in the next chunk."""
_STARTS, _ENDS = (b"[", b"{"), (b",", b"]")
_DEPTHS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1, b",": 0, b"": 0}
_SHOWN = 4


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    return unwrap(path, limits, lambda values: "text" in values)


def unwrap(path: Path, limits: ReadLimits, is_document: IsDocument) -> Iterator[Row]:
    """Yield the items of an array, the lines, or what one object holds.

    An object that is no document itself holds its rows in a list of objects: the list whose first object is a document,
    or else the only list. A list inside a list belongs to a row. So no search server has to be known by name.
    """
    beginning = next((head for chunk in chunks(path, limits) if (head := chunk.lstrip())), b"")
    if beginning.startswith(b"["):
        for number, item in enumerate(_items(path, _marks(path, chunks(path, limits))), 1):
            yield _row(f"item {number}", number, item)
    elif not beginning.startswith(b"{") or _has_lines(path, limits):
        yield from jsonl.read(path, limits)
    else:
        yield from _object_rows(path, limits, is_document)


def _row(place: str, number: int, item: bytes | None) -> Row:
    if item is None:
        return Row(place, str(number), {}, f"longer than {LONGEST >> 20} MiB")
    return jsonl.row(place, str(number), item)


def _has_lines(path: Path, limits: ReadLimits) -> bool:
    """Return whether the first of several lines is a row, or too long to tell."""
    first, *others = islice((line for line in lines(path, limits) if line is None or line.strip()), 2)
    return bool(others) and (first is None or not jsonl.row("", "", first).error)


def _object_rows(path: Path, limits: ReadLimits, is_document: IsDocument) -> Iterator[Row]:
    text, row = _read_whole(path, limits), None
    if text is not None and (row := jsonl.row("line 1", "1", text)).error:
        if text.partition(b"\n")[0].strip() == b"{":
            why = f"several JSON objects, or a broken one ({row.error})"
            raise CorpusError(f"{path}: holds {why}; give an array of objects, or one object a line")
        yield from jsonl.read(path, limits)
        return
    name = "" if row and is_document(row.values) else _choose_list(path, limits, is_document)
    if name:
        note = f"rows are the objects in '{name}' of a JSON object"
        arrays = _Arrays(path, chunks(path, limits))
        items = (item for item in _items(path, arrays) if arrays.name == name)
        for number, item in enumerate(items, 1):
            yield _row(f"{name}, item {number}", number, item)._replace(note=note)
    elif row:
        yield row
    else:
        raise CorpusError(f"{path}: holds one JSON object and no list of objects; give an array of objects")


def _read_whole(path: Path, limits: ReadLimits) -> bytes | None:
    """Return the content of a file that may be a row itself, or None if it is too long for one."""
    text = bytearray()
    for chunk in chunks(path, limits):
        text += chunk
        if len(text) > LONGEST:
            return None
    return bytes(text.strip())


def _choose_list(path: Path, limits: ReadLimits, is_document: IsDocument) -> str:
    """Return the name of the list that holds the rows, or an empty string if there is no list of objects."""
    lists = dict[str, Mapping[str, Any]]()
    """The first object of each list."""
    arrays = _Arrays(path, chunks(path, limits))
    for item in _items(path, arrays):
        if arrays.name not in lists and item and (values := jsonl.row("", "", item).values):
            lists[arrays.name] = values
    names = [name for name, values in lists.items() if is_document(values)] or list(lists)
    if len(names) > 1:
        fields = "; ".join(f"{name} ({', '.join(islice(field_names(lists[name]), _SHOWN))})" for name in names[:_SHOWN])
        raise CorpusError(
            f"{path}: holds {len(names)} lists of objects: {fields}; name with --text-field a text that only one of "
            "them has, or give that list a file of its own"
        )
    return names[0] if names else ""


class _Arrays:
    """The marks of those arrays of an object that are in no other array."""

    def __init__(self, path: Path, stream: Iterator[bytes]) -> None:
        self._path, self._stream = path, stream
        self.name = ""
        """The keys that lead to the array of the last mark, joined by dots."""

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        keys, depth = list[bytes](), 0
        for mark, before in _marks(self._path, self._stream):
            if depth == 0 and mark in _STARTS:
                keys.append(before.rstrip(b": \t\r\n").lstrip()[1:-1])
                self.name = b".".join(keys[1:]).decode(errors="replace")
            if depth or mark == b"[":
                yield mark, before
                depth += _DEPTHS[mark]
            if depth == 0 and mark in (b"]", b"}"):
                del keys[-1:]
        if keys:
            raise CorpusError(f"{self._path}: its object is not closed; is it complete?")


def _items(path: Path, marks: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes | None]:
    """Yield the items of an array as JSON; None for an item beyond `LONGEST`."""
    parts, size, depth = list[bytes](), 0, 0
    for mark, before in marks:
        size += len(before) + len(mark)
        if depth == 1 and mark in _ENDS:
            if item := b"".join((*parts, before)).strip():
                yield item if size <= LONGEST else None
            parts, size = [], 0
        elif depth == 0 and mark in _STARTS:
            parts, size = [], 0
        elif size <= LONGEST:
            parts += before, mark
        depth = max(0, depth + _DEPTHS[mark])
    if depth:
        raise CorpusError(f"{path}: its array is not closed; is it complete?")
    if item := b"".join(parts).strip():
        yield item


def _marks(path: Path, stream: Iterator[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield each bracket, brace and comma with the bytes before it, and then the bytes that remain."""
    tail = b""
    for chunk in stream:
        buffer, position = tail + chunk, 0
        for token in _TOKEN.finditer(buffer):
            mark = token[0]
            if mark == b'"':
                break
            if mark[:1] != b'"':
                yield mark, buffer[position : token.start()]
                position = token.end()
        tail = buffer[position:]
        if len(tail) > LONGEST:
            raise CorpusError(
                f"{path}: holds one string of more than {LONGEST >> 20} MiB, or an open quote; mend or split it"
            )
    yield b"", tail


READER = Reader(read=read, unwrap=unwrap, suffixes=tuple(f".json{packed}" for packed in PACKED))
