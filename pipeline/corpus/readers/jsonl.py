"""JSON Lines, plain or compressed with gzip, zstandard or xz; one object per line, blank lines skipped.

Decompressed bytes are counted while they stream.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import orjson

from pipeline.corpus.readers.base import LONGEST, NOT_UTF8, PACKED, ReadLimits, Row, lines

_NO_NUMBER = re.compile(rb'(?:[^"]|"(?:[^"\\]|\\.)*+")*?[:\[,]\s*(NaN|-?Infinity)\b.*', re.DOTALL)
SUFFIXES = tuple(kind + packed for kind in (".jsonl", ".ndjson") for packed in PACKED)


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    for number, line in enumerate(lines(path, limits), 1):
        if line is None:
            yield Row(f"line {number}", str(number), {}, f"longer than {LONGEST >> 20} MiB")
        elif line.strip():
            yield row(f"line {number}", str(number), line)


def row(place: str, key: str, line: bytes) -> Row:
    """That of one JSON value."""
    try:
        values = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        why = f"not JSON: {error}"
        if "UTF-8" in str(error):
            why = NOT_UTF8
        elif odd := _NO_NUMBER.fullmatch(line):
            why = f"not JSON: {odd[1].decode()} is no JSON; write null"
        return Row(place, key, {}, why)
    if isinstance(values, list) and len(values) == 2 and isinstance(values[0], str) and isinstance(values[1], list):
        values = {"title": values[0], "text": values[1]}  # as in HotpotQA's contexts
    if not isinstance(values, dict):
        return Row(place, key, {}, "not a JSON object")
    return Row(place, key, values)
