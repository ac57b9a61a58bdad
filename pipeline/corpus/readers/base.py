"""The contract of every reader: a path in, rows out, one at a time, within limits.

A row that cannot be read is still a row, with its error: the corpus counts it and decides when there are too many.
"""

import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from pydantic import Field

from pipeline.errors import CorpusError, reason
from pipeline.types import Data


class ReadLimits(Data):
    """What a corpus may cost. Beyond `bytes` or `docs` the run stops; a longer document is left out and counted."""

    bytes: int = Field(4 << 30, ge=1)
    """Decompressed."""
    docs: int = Field(2_000_000, ge=1)
    doc_chars: int = Field(200_000, ge=1)


LONGEST = 32 << 20
"""Bytes or characters of a line or a text; one that is longer is a bad row."""
_MAX_RATIO = 200
_FREE_BYTES = 64 << 20
"""The ratio is judged beyond this much only: small files of much the same text compress well, and do no harm."""


class Unpacked:
    """How much a file has unpacked to so far, so that a bomb of a few hundred bytes ends as an error and not as a full
    memory."""

    def __init__(self, path: Path, limits: ReadLimits) -> None:
        self._path, self._limits, self._total = path, limits, 0
        self._size = path.stat().st_size
        if not path.is_file():
            raise CorpusError(f"{path}: cannot be read: it is a pipe or a device, not a file")

    def add(self, count: int) -> None:
        """Raises CorpusError beyond the limit, or where the file unpacks to too many times its size."""
        self._total += count
        if self._total > self._limits.bytes:
            raise CorpusError(f"{self._path}: more than {self._limits.bytes} bytes; raise limits.bytes in its manifest")
        if self._total > _FREE_BYTES and self._total > _MAX_RATIO * self._size:
            raise CorpusError(f"{self._path}: unpacks to more than {_MAX_RATIO} times its size; refused as a bomb")


PACKED = ("", ".gz", ".zst", ".xz")
"""What may follow the ending of a file of lines."""
_CHUNK = 1 << 20


def lines(path: Path, limits: ReadLimits) -> Iterator[bytes | None]:
    """Of a file that may be packed, its lines without their ends, while it streams; None is one beyond `LONGEST`.

    Raises CorpusError where it cannot be read or unpacks beyond the limits.
    """
    rest, too_long = b"", False
    for chunk in _chunks(path, limits):
        *whole, tail = chunk.split(b"\n")
        if whole:
            yield None if too_long else rest + whole[0]
            yield from whole[1:]
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
        why = reason(error) if isinstance(error, OSError) else error
        raise CorpusError(f"{path}: cannot be read ({why}); is it complete, with the right suffix?") from error


def _opened(path: Path) -> IO[bytes]:
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path)  # type: ignore[return-value]
        case ".xz":
            return lzma.open(path)
        case ".zst":
            import pyarrow as pa

            # zstandard's own stream takes a file that was cut off for a whole one
            return pa.input_stream(str(path), compression="zstd")  # type: ignore[no-any-return]
    return path.open("rb")


def text_of(path: Path, limits: ReadLimits) -> str:
    """The text of a file that is one document. Raises CorpusError beyond `limits.bytes`, and ValueError with the reason
    where it is too long or not UTF-8.
    """
    try:
        Unpacked(path, limits).add(path.stat().st_size)
        with path.open("rb") as stream:
            data = stream.read(LONGEST + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error}") from error
    if len(data) > LONGEST:
        raise ValueError(f"longer than {LONGEST >> 20} MiB")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"not a readable UTF-8 text: {error}") from error


def stem(path: Path) -> str:
    """The file's name as a title."""
    return path.stem.replace("_", " ")


class Row(NamedTuple):
    place: str
    """Where it stands, for messages: `line 17` or a file name."""
    key: str
    """A stable id for a row that has none of its own."""
    values: Mapping[str, Any]
    error: str = ""


class Reader(Protocol):
    SUFFIXES: tuple[str, ...]
    """Of the files that it reads. A reader without any is asked for by its name: `hf:ORG/NAME`."""

    def read(self, path: Path, limits: ReadLimits) -> Iterator[Row]:
        """All rows of `path`, in order, none of which it keeps. Raises CorpusError where nothing more can be read."""
        ...


def of_shards(whole: Path, shards: Iterable[tuple[str, Iterable[Row]]], limits: ReadLimits) -> Iterator[Row]:
    """The rows of several files, each given with its name, as those of one source."""
    characters = 0
    for name, rows in shards:
        for row in rows:
            # A reader minds its own file alone.
            characters += sum(len(value) for value in row.values.values() if isinstance(value, str))
            if characters > limits.bytes:
                raise CorpusError(f"{whole}: more than {limits.bytes} bytes; raise limits.bytes in its manifest")
            yield row._replace(place=f"{name}, {row.place}", key=f"{name}:{row.key}")
