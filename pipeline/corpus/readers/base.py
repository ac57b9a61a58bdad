"""The contract of readers: a reader takes a path and yields rows, one at a time, within limits.

A row that cannot be read is yielded with its error: the corpus counts such rows and decides when there are too many.
"""

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple

from backports import zstd
from backports.zstd import DecompressionParameter, ZstdError
from pydantic import Field

from pipeline import registry
from pipeline.corpus.document_blocks import Parsed
from pipeline.errors import CorpusError, reason
from pipeline.types import Data


class ReadLimits(Data):
    """The size limits of a corpus. A corpus beyond `bytes` or `docs` is refused; a longer document is left out."""

    bytes: int = Field(4 << 30, ge=1)
    """Decompressed bytes."""
    docs: int = Field(2_000_000, ge=1)
    doc_chars: int = Field(200_000, ge=1)


LONGEST = 32 << 20
"""The most bytes or characters of a line or a text; a longer one is a bad row."""
_MAX_RATIO = 200
_FREE_BYTES = 64 << 20
"""The ratio is checked beyond this size only: small files of repetitive text compress well, and do no harm."""


class ReadBytes:
    """Count the bytes read of a source, decompressed.

    A bomb of a few hundred bytes then raises an error before it fills the memory.
    """

    def __init__(self, path: Path, limits: ReadLimits, *, packed: bool = False) -> None:
        self.path, self.total, self._most = path, 0, limits.bytes
        self._size = path.stat().st_size if packed else None
        if packed and not path.is_file():
            raise CorpusError(f"{path}: cannot be read: it is a pipe or a device, not a file")

    def add(self, count: int) -> None:
        """Raise CorpusError beyond the limit, or if the file unpacks to too many times its size."""
        self.total += count
        if self._size is not None and self.total > max(_FREE_BYTES, _MAX_RATIO * self._size):
            raise CorpusError(f"{self.path}: unpacks to more than {_MAX_RATIO} times its size; refused as a bomb")
        if self.total > self._most:
            raise CorpusError(f"{self.path}: more than {self._most} bytes; raise limits.bytes in the corpus's manifest")


_PACKINGS, _MAGIC = 2, 10
# The default window is 128 MB; Reddit's dumps have one of 2 GB.
_UNPACKERS: tuple[tuple[re.Pattern[bytes], Callable[[IO[bytes]], Any]], ...] = (
    (re.compile(rb"\x1f\x8b\x08"), gzip.open),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72E8P\x90)"), bz2.open),
    (re.compile(rb"\xfd7zXZ\0"), lzma.open),
    (
        re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
        partial(zstd.open, options={DecompressionParameter.window_log_max: 31}),
    ),
)
"""Decompressors by the first bytes of a file."""
PACKED = ("", ".gz", ".bz2", ".zst", ".xz")
"""What may follow the suffix of a text file."""
_CHUNK = 1 << 20
NOT_UTF8 = "not UTF-8; save the file as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8, if that is what it is"


def lines(path: Path, limits: ReadLimits) -> Iterator[bytes | None]:
    """Stream the lines of a file without their ends, decompressed; None for a line beyond `LONGEST`.

    Raises:
        CorpusError: if the file cannot be read or unpacks beyond the limits.
    """
    begun_line, too_long, end = b"", False, b""
    for chunk in chunks(path, limits):
        if not end:  # a carriage return alone ends the lines of old Mac files
            end = b"\n" if b"\n" in chunk else b"\r" if b"\r" in chunk[:-1] else b""
        *complete_lines, tail = (chunk.replace(b"\r", b"\n") if end == b"\r" else chunk).split(b"\n")
        if complete_lines:
            yield None if too_long else begun_line + complete_lines[0]
            yield from complete_lines[1:]
            begun_line, too_long = tail, False
        elif not too_long:
            begun_line += tail
        if len(begun_line) > LONGEST:
            begun_line, too_long = b"", True
    if begun_line or too_long:
        yield None if too_long else begun_line


def chunks(path: Path, limits: ReadLimits) -> Iterator[bytes]:
    """Stream the content of a file, decompressed, in UTF-8 and without a byte-order mark.

    Raises:
        CorpusError: if the file cannot be read or unpacks beyond the limits.
    """
    try:
        unpacked = ReadBytes(path, limits, packed=True)
        with _open(path) as stream:
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
        raise CorpusError(
            f"{path}: its first bytes mark it as {name}, but its text is not; save the file as UTF-8"
        ) from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ZstdError) as error:
        why = reason(error) if isinstance(error, OSError) else error
        raise CorpusError(f"{path}: cannot be read ({why}); is it complete, with the right suffix?") from error


def marked_encoding(data: bytes) -> str:
    """Return UTF-16 or 32 if the bytes begin with its byte-order mark, else an empty string.

    Other bytes that happen to begin with a mark contain no NUL.
    """
    of_32, of_16 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    wide = dict.fromkeys(of_32, "utf-32") | dict.fromkeys(of_16, "utf-16")
    return next((name for mark, name in wide.items() if data.startswith(mark) and b"\0" in data[:4096]), "")


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    """Open a file and decompress it, whatever its suffix, and twice if it was compressed twice."""
    with ExitStack() as stack:
        stream: Any = stack.enter_context(path.open("rb"))
        for _ in range(_PACKINGS):
            head = stream.peek(_MAGIC)
            if unpack := next((unpack for magic, unpack in _UNPACKERS if magic.match(head)), None):
                stream = stack.enter_context(unpack(stream))
        yield stream


_NOTION_ID = re.compile(r"(?<=\S) [0-9a-f]{32}$")
"""The suffix that Notion adds to the name of an exported page."""


NAMED_BY_FILE = "documents have no title of their own and are named by their file"


class TooMuchMarkup(Exception):
    """A document whose markup would take its parser minutes.

    The limit counts marks and not seconds, so that the result does not depend on the machine.
    """


class Row(NamedTuple):
    place: str
    """Its position in the source for messages: `line 17` or a file name."""
    key: str
    """A stable id for a row without one."""
    values: Mapping[str, Any]
    error: str = ""
    note: str = ""
    """A remark on a row that was read, such as `rows span several lines`; shown with the number of such rows."""
    kind: str = ""
    """The kind of the file, where a file is a document; only in its first row if it has several."""
    pages: Mapping[str, int] = MappingProxyType({})
    """Remarks about pages of the file that were left out, with their numbers."""


IsDocument = Callable[[Mapping[str, Any]], bool]
"""Returns whether an object has the field of the text."""


def document_row(
    path: Path,
    limits: ReadLimits,
    parse: Callable[[str], tuple[str, str, list[str]]],
    *,
    longest: int | None = None,
    encoding: Callable[[bytes], str] = marked_encoding,
) -> Row:
    """Read a file that is one document. A document without a title has the name of its file.

    Args:
        path: the file.
        limits: the limits of the corpus.
        parse: returns the title, the text and the links of a source.
        longest: a source of more characters is not parsed.
        encoding: returns the name of the encoding of the file's bytes, or an empty string for UTF-8.

    Raises:
        CorpusError: beyond `limits.bytes`.
    """
    try:
        ReadBytes(path, limits, packed=True).add(path.stat().st_size)
        with path.open("rb") as stream:
            data = stream.read(LONGEST + 1)
        if len(data) > LONGEST:
            return Row(path.name, path.name, {}, f"longer than {LONGEST >> 20} MiB")
        source = decode(data, encoding(data))
    except OSError as error:
        return Row(path.name, path.name, {}, f"cannot be read: {error}")
    except UnicodeDecodeError as error:
        return Row(path.name, path.name, {}, f"not a readable UTF-8 text: {error}; save it as UTF-8")
    try:
        title, text, links = ("", source, []) if longest is not None and len(source) > longest else parse(source)
    except TooMuchMarkup as error:
        return Row(path.name, path.name, {}, str(error))
    values = {"id": path.name, "title": title or file_title(path), "text": text}
    return Row(path.name, path.name, values | ({"links": links} if links else {}), note="" if title else NAMED_BY_FILE)


def file_title(path: Path) -> str:
    return _NOTION_ID.sub("", path.stem).replace("_", " ")


def decode(data: bytes, encoding: str = "") -> str:
    """Return the text of a file with plain line ends. The encoding is that of its byte-order mark or UTF-8 by default.

    Raises:
        UnicodeDecodeError: if the bytes are in another encoding.
    """
    text = data.decode(encoding or marked_encoding(data) or "utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Package(NamedTuple):
    """A package that a reader needs, and the extra of Digsite that installs it."""

    name: str
    extra: str
    module: str = ""
    """What is imported, if it has another name than the package."""

    @property
    def is_installed(self) -> bool:
        return find_spec(self.module or self.name) is not None


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A kind of source. Each module of a reader defines one."""

    read: Callable[[Path, ReadLimits], Iterator[Row]]
    """Yields all rows of a path, in order, without keeping them. Raises CorpusError if it cannot read on."""
    unwrap: Callable[[Path, ReadLimits, IsDocument], Iterator[Row]] | None = None
    """Does the same, if the rows may be inside an object."""
    suffixes: tuple[str, ...] = ()
    """The suffixes of the files that it reads. A reader without any is chosen by its name: `hf:ORG/NAME`."""
    kind: str = ""
    """What messages call the files, if each of them is one document."""
    parse: Callable[[bytes], Parsed] | None = None
    """Parses the bytes of a document. It runs in a second process, since it could harm this one."""
    accepts: Callable[[Path], bool] | None = None
    """Returns whether a file with the right suffix is of this kind. If left out, every one is."""
    package: Package | None = None

    def rows(self, path: Path, limits: ReadLimits, is_document: IsDocument | None) -> Iterator[Row]:
        return self.unwrap(path, limits, is_document) if self.unwrap and is_document else self.read(path, limits)

    @property
    def is_installed(self) -> bool:
        return self.package is None or self.package.is_installed

    @property
    def version(self) -> str:
        """The version of the package that it needs; empty if it needs none or lacks it."""
        return version(self.package.name) if self.package and self.package.is_installed else ""

    def require_package(self, path: Path) -> None:
        """Raise CorpusError, with what to install, if the package is missing."""
        if self.package and not self.package.is_installed:
            raise CorpusError(f"{path}: to read {self.kind} files: pip install 'digsite[{self.package.extra}]'")


def load_reader(name: str) -> Reader:
    return registry.instance("readers", name, Reader)


def read_in_parser_process(name: str, path: Path, limits: ReadLimits) -> Iterator[Row]:
    """Yield the rows of one file, which a second process parses. `name` is its reader.

    Raises:
        CorpusError: if the package of the reader is not installed.
    """
    from pipeline.corpus.parser_process import ParserProcess  # it imports this module

    load_reader(name).require_package(path)
    with ParserProcess() as parser:
        yield from parser.rows(name, path, limits)


def size(value: Any) -> int:
    """Return the number of characters of a text, or of all texts in a list or an object."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        value = list(value.values())
    return sum(map(size, value)) if isinstance(value, list) else 0


def of_shards(source: Path, shards: Iterable[tuple[str, Iterable[Row]]], limits: ReadLimits) -> Iterator[Row]:
    """Yield the rows of several named files as those of one source."""
    characters = ReadBytes(source, limits)
    for name, rows in shards:
        for row in rows:
            # A reader checks the size of its own file only.
            characters.add(sum(map(size, row.values.values())))
            yield row._replace(place=f"{name}, {row.place}", key=f"{name}:{row.key}")
