"""Reads the unpacked sizes of the pages of a Parquet file from their headers.

The sizes in the footer cannot be trusted, since Arrow unpacks by the page headers. A header is a struct in Thrift's
compact protocol: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from pathlib import Path
from typing import IO, NamedTuple

import pyarrow.parquet as pq

_HEADER = 1 << 16
"""The most bytes of a header, which may contain two values of the column as statistics."""
_UNPACKED, _PACKED = 2, 3
_DEPTH = 8


class BadPageError(ValueError):
    """A header that cannot be read."""


def unpacked_sizes(path: Path, metadata: pq.FileMetaData) -> list[list[int]]:
    """Return the unpacked bytes of each column of each group. Raises BadPageError."""
    groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
    with path.open("rb") as file:
        return [[_unpacked_size(file, group.column(index)) for index in range(group.num_columns)] for group in groups]


def _unpacked_size(file: IO[bytes], chunk: pq.ColumnChunkMetaData) -> int:
    offset, total = chunk.data_page_offset, 0
    if chunk.dictionary_page_offset:
        offset = min(offset, chunk.dictionary_page_offset)
    end = offset + chunk.total_compressed_size
    while offset < end:
        file.seek(offset)
        header = _Header(file.read(_HEADER))
        fields = header.struct()
        if min(fields.unpacked, fields.packed) < 0:
            raise BadPageError("a page has no size")
        total += fields.unpacked
        offset += header.offset + fields.packed
    return total


class _Sizes(NamedTuple):
    unpacked: int
    packed: int


class _Header:
    """A reader of Thrift's compact protocol that returns the sizes and skips all other fields."""

    def __init__(self, data: bytes) -> None:
        self._data, self.offset = data, 0

    def struct(self, depth: int = 0) -> _Sizes:
        sizes, field = {_UNPACKED: -1, _PACKED: -1}, 0
        while (mark := self._byte()) != 0:
            field = field + (mark >> 4) if mark >> 4 else self._integer()
            value = self._value(mark & 15, depth)
            if field in sizes:
                sizes[field] = value
        return _Sizes(sizes[_UNPACKED], sizes[_PACKED])

    def _value(self, kind: int, depth: int) -> int:
        if depth > _DEPTH:
            raise BadPageError("a page's header is too deep")
        if kind == 3:
            self.offset += 1
        elif kind in (4, 5, 6):
            return self._integer()
        elif kind == 7:
            self.offset += 8
        elif kind == 8:
            size = self._varint()
            self.offset += size
        elif kind in (9, 10):
            size = self._byte()
            count = size >> 4 if size >> 4 < 15 else self._varint()
            for _ in range(min(count, len(self._data))):
                self._value(size & 15, depth + 1)
        elif kind == 12:
            self.struct(depth + 1)
        elif kind not in (1, 2):
            raise BadPageError("a page's header is not valid")
        return 0

    def _byte(self) -> int:
        if self.offset >= len(self._data):
            raise BadPageError("a page's header is cut off")
        self.offset += 1
        return self._data[self.offset - 1]

    def _varint(self) -> int:
        value = shift = 0
        while shift < 64:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise BadPageError("a page's header has no end")

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
