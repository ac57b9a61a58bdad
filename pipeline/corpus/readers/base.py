"""The contract of every reader: a path in, rows out, one at a time, within limits.

A row that cannot be read is still a row, with its error: the corpus counts it and decides when there are too many.
"""

import bz2
import codecs
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
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


class ReadBytes:
    """How much was read of a source so far; of a file that may be packed, unpacked, so that a bomb of a few hundred
    bytes ends as an error and not as a full memory."""

    def __init__(self, path: Path, limits: ReadLimits, *, packed: bool = False) -> None:
        self.path, self.total, self._most = path, 0, limits.bytes
        self._size = path.stat().st_size if packed else None
        if packed and not path.is_file():
            raise CorpusError(f"{path}: cannot be read: it is a pipe or a device, not a file")

    def add(self, count: int) -> None:
        """Raises CorpusError beyond the limit, or where the file unpacks to too many times its size."""
        self.total += count
        if self._size is not None and self.total > max(_FREE_BYTES, _MAX_RATIO * self._size):
            raise CorpusError(f"{self.path}: unpacks to more than {_MAX_RATIO} times its size; refused as a bomb")
        if self.total > self._most:
            raise CorpusError(f"{self.path}: more than {self._most} bytes; raise limits.bytes in its manifest")


PACKED = ("", ".gz", ".bz2", ".zst", ".xz")
"""What may follow the ending of a file of lines."""
_CHUNK = 1 << 20
NOT_UTF8 = "not UTF-8; save the file as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8, if that is what it is"


def lines(path: Path, limits: ReadLimits) -> Iterator[bytes | None]:
    """Of a file that may be packed, its lines without their ends, while it streams; None is one beyond `LONGEST`.

    Raises CorpusError where it cannot be read or unpacks beyond the limits.
    """
    rest, too_long, end = b"", False, b""
    for chunk in chunks(path, limits):
        if not end:  # of old Macs' files a carriage return alone ends a line
            end = b"\n" if b"\n" in chunk else b"\r" if b"\r" in chunk[:-1] else b""
        *whole, tail = (chunk.replace(b"\r", b"\n") if end == b"\r" else chunk).split(b"\n")
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


def chunks(path: Path, limits: ReadLimits) -> Iterator[bytes]:
    """What a file holds, unpacked and in UTF-8 without a mark, while it streams. Raises CorpusError as `lines` does."""
    try:
        unpacked = ReadBytes(path, limits, packed=True)
        with _opened(path) as stream:
            chunk = stream.read(_CHUNK).removeprefix(codecs.BOM_UTF8)
            name = marked_encoding(chunk)
            decoder = codecs.getincrementaldecoder(name)() if name else None
            while chunk:
                unpacked.add(len(chunk))
                yield decoder.decode(chunk).encode() if decoder else chunk
                chunk = stream.read(_CHUNK)
            if decoder:
                decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not {name}, as its first bytes say; save the file as UTF-8") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        raise CorpusError(f"{path}: cannot be read ({why}); is it complete, with the right suffix?") from error


def marked_encoding(data: bytes) -> str:
    """UTF-16 or 32, where a byte-order mark states it, else empty. Bytes that only begin like one hold no NUL."""
    of_32, of_16 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    wide = dict.fromkeys(of_32, "utf-32") | dict.fromkeys(of_16, "utf-16")
    return next((name for mark, name in wide.items() if data.startswith(mark) and b"\0" in data[:4096]), "")


def _opened(path: Path) -> IO[bytes]:
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path)  # type: ignore[return-value]
        case ".bz2":
            return bz2.open(path)
        case ".xz":
            return lzma.open(path)
        case ".zst":
            import pyarrow as pa

            # zstandard's own stream takes a file that was cut off for a whole one
            return pa.input_stream(str(path), compression="zstd")  # type: ignore[no-any-return]
    return path.open("rb")


class TooMuchMarkup(Exception):
    """A document whose marks would take its parser minutes. The limit counts marks and not seconds, so that what is
    read does not depend on the machine."""


class Row(NamedTuple):
    place: str
    """Where it stands, for messages: `line 17` or a file name."""
    key: str
    """A stable id for a row that has none of its own."""
    values: Mapping[str, Any]
    error: str = ""
    note: str = ""
    """What to know of a row that was read, such as `rows span several lines`; counted, and shown with its number."""


def document_row(
    path: Path,
    limits: ReadLimits,
    parsed: Callable[[str], tuple[str, str, list[str]]],
    *,
    longest: int | None = None,
    encoding: Callable[[bytes], str] = marked_encoding,
) -> Row:
    """The row of a file that is one document, whose title, text and links are `parsed` from it; one without a title has
    the file's name. A file of more than `longest` characters is left as it is: nothing is spent on parsing it.

    `encoding` is asked for the name of that of its bytes, which is empty of UTF-8.

    Raises CorpusError beyond `limits.bytes`.
    """
    try:
        ReadBytes(path, limits, packed=True).add(path.stat().st_size)
        with path.open("rb") as stream:
            data = stream.read(LONGEST + 1)
        if len(data) > LONGEST:
            return Row(path.name, path.name, {}, f"longer than {LONGEST >> 20} MiB")
        source = data.decode(encoding(data) or "utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        return Row(path.name, path.name, {}, f"cannot be read: {error}")
    except UnicodeDecodeError as error:
        return Row(path.name, path.name, {}, f"not a readable UTF-8 text: {error}; save it as UTF-8")
    try:
        title, text, links = ("", source, []) if longest is not None and len(source) > longest else parsed(source)
    except TooMuchMarkup as error:
        return Row(path.name, path.name, {}, str(error))
    values = {"id": path.name, "title": title or path.stem.replace("_", " "), "text": text}
    return Row(path.name, path.name, values | ({"links": links} if links else {}))


class Reader(Protocol):
    SUFFIXES: tuple[str, ...]
    """Of the files that it reads. A reader without any is asked for by its name: `hf:ORG/NAME`."""

    def read(self, path: Path, limits: ReadLimits) -> Iterator[Row]:
        """All rows of `path`, in order, none of which it keeps. Raises CorpusError where nothing more can be read."""
        ...


def size(value: Any) -> int:
    """Return the characters of a text, or of all texts in a list or an object."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(size, value)) if isinstance(value, list) else 0


def of_shards(whole: Path, shards: Iterable[tuple[str, Iterable[Row]]], limits: ReadLimits) -> Iterator[Row]:
    """The rows of several files, each given with its name, as those of one source."""
    characters = ReadBytes(whole, limits)
    for name, rows in shards:
        for row in rows:
            # A reader minds its own file alone.
            characters.add(sum(map(size, row.values.values())))
            yield row._replace(place=f"{name}, {row.place}", key=f"{name}:{row.key}")
