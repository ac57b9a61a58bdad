"""JSON Lines, plain or compressed with gzip, zstandard or xz; one object per line, blank lines skipped.

Decompressed bytes are counted while they stream.
"""

from collections.abc import Iterator
from pathlib import Path

import orjson

from pipeline.corpus.readers.base import LONGEST, PACKED, ReadLimits, Row, lines

SUFFIXES = tuple(kind + packed for kind in (".jsonl", ".ndjson") for packed in PACKED)


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    for number, line in enumerate(lines(path, limits), 1):
        if line is None:
            yield Row(f"line {number}", str(number), {}, f"longer than {LONGEST >> 20} MiB")
        elif line.strip():
            yield _row(number, line)


def _row(number: int, line: bytes) -> Row:
    try:
        values = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        why = "not UTF-8; save the file as UTF-8" if "UTF-8" in str(error) else f"not JSON: {error}"
        return Row(f"line {number}", str(number), {}, why)
    if not isinstance(values, dict):
        return Row(f"line {number}", str(number), {}, "not a JSON object")
    return Row(f"line {number}", str(number), values)
