"""Parquet, a batch of rows at a time.

A dictionary or a shared prefix lets a file of kilobytes hold gigabytes of text: all rows may name one text of 20 MB. So
a batch is as small as the largest values that its columns can hold demand, and what the rows hold is counted as the
unpacked bytes of any other file are. Columns that can be no part of a document (lists, structs, bytes) are not
unpacked: an embedding would cost more than its text. Their type stands in for their values. Dates become text, since
one that Python has no word for would end the read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.corpus.readers.base import LONGEST, ReadLimits, Row, Unpacked
from pipeline.errors import CorpusError

SUFFIXES: tuple[str, ...] = (".parquet",)
_BATCH, _BATCH_BYTES = 1024, 128 << 20


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    number = 0
    try:
        unpacked = Unpacked(path, limits)
        with path.open("rb") as stream, pq.ParquetFile(path) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            # The footer is judged before anything is unpacked.
            Unpacked(path, limits).add(sum(group.total_byte_size for group in groups))
            odd = _odd(file.schema_arrow)
            plain = [name for name in file.schema_arrow.names if name not in odd]
            for index, group in enumerate(groups):
                rows = _batch_rows(group, stream)
                for batch in file.iter_batches(rows, row_groups=[index], columns=plain):
                    for values in _readable(batch).to_pylist():
                        number += 1
                        lengths = [len(value) for value in values.values() if isinstance(value, str)]
                        unpacked.add(sum(lengths))
                        error = f"a text longer than {LONGEST >> 20} MiB" if max(lengths, default=0) > LONGEST else ""
                        yield Row(f"row {number}", str(number), values | odd, error)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from error


def plain_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, as those of a file."""
    odd = _odd(table.schema)
    for values in _readable(table.drop_columns(list(odd))).to_pylist():
        yield values | odd


def _readable(rows: Any) -> Any:
    """A table or batch with its dates as text."""
    for place, field in enumerate(rows.schema):
        if _day(field.type):
            # Without its zone, whose name a machine need not know.
            plain = pa.timestamp(field.type.unit) if pa.types.is_timestamp(field.type) else field.type
            days = rows.column(place).cast(plain).cast(pa.date32(), safe=False).cast(pa.string())
            rows = rows.set_column(place, field.name, days)
    return rows


def _odd(schema: pa.Schema) -> dict[str, Any]:
    """The columns that can be no part of a document, with their types."""
    return {field.name: field.type for field in schema if not _plain(field.type)}


def _batch_rows(group: pq.RowGroupMetaData, stream: IO[bytes]) -> int:
    """How many rows may be unpacked together and stay within `_BATCH_BYTES`, if all hold the largest values."""
    columns = [group.column(index) for index in range(group.num_columns)]
    largest = [_largest(column, stream) for column in columns if column.physical_type == "BYTE_ARRAY"]
    usual = group.total_byte_size / max(1, group.num_rows)
    return max(1, min(_BATCH, int(_BATCH_BYTES / max(1, usual, *largest))))


def _largest(column: pq.ColumnChunkMetaData, stream: IO[bytes]) -> int:
    """The most bytes of a value that many rows can share; 0 where each row's value is stored for itself."""
    if "DELTA_BYTE_ARRAY" in column.encodings:  # a prefix of the value before, and a rest
        return int(column.total_uncompressed_size)
    if not {"RLE_DICTIONARY", "PLAIN_DICTIONARY"} & set(column.encodings):
        return 0
    # The header of the dictionary's page, in Thrift's compact protocol: its kind (2), then its unpacked size.
    stream.seek(min(column.data_page_offset, column.dictionary_page_offset or column.data_page_offset))
    head, size = stream.read(8), 0
    if head[:3] != b"\x15\x04\x15":
        return int(column.total_uncompressed_size)
    for place, byte in enumerate(head[3:]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    return size >> 1


def _text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _day(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _plain(kind: pa.DataType) -> bool:
    number = pa.types.is_primitive(kind) and not pa.types.is_temporal(kind)
    return bool(_text(kind) or _day(kind) or number or pa.types.is_null(kind))
