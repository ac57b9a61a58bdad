"""JSON Lines, plain or compressed with gzip, zstandard or xz; one object per line, blank lines skipped.

Decompressed bytes are counted while they stream.
"""

import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import orjson
import pyarrow as pa

from pipeline.corpus.readers.base import LONGEST, ReadLimits, Row, Unpacked
from pipeline.errors import CorpusError

SUFFIXES = tuple(kind + packed for kind in (".jsonl", ".ndjson") for packed in ("", ".gz", ".zst", ".xz"))
_CHUNK = 1 << 20


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    for number, line in enumerate(_lines(path, limits), 1):
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


def _lines(path: Path, limits: ReadLimits) -> Iterator[bytes | None]:
    """Lines without their ends; None stands for one that is too long."""
    rest, too_long = b"", False
    for chunk in _chunks(path, limits):
        *lines, tail = chunk.split(b"\n")
        if lines:
            yield None if too_long else rest + lines[0]
            yield from lines[1:]
            rest, too_long = tail, False
        elif not too_long:
            rest += tail
        if len(rest) > LONGEST:
            rest, too_long = b"", True
    if rest or too_long:
        yield None if too_long else rest


def _chunks(path: Path, limits: ReadLimits) -> Iterator[bytes]:
    first = True
    try:
        unpacked = Unpacked(path, limits)
        with _opened(path) as stream:
            while chunk := stream.read(_CHUNK):
                unpacked.add(len(chunk))
                yield chunk.removeprefix(b"\xef\xbb\xbf") if first else chunk
                first = False
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise CorpusError(f"{path}: cannot be read ({error}); is it complete, with the right suffix?") from error


def _opened(path: Path) -> IO[bytes]:
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path)  # type: ignore[return-value]
        case ".xz":
            return lzma.open(path)
        case ".zst":  # zstandard's own stream takes a file that was cut off for a whole one
            return pa.input_stream(str(path), compression="zstd")  # type: ignore[no-any-return]
    return path.open("rb")
