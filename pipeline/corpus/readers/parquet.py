"""Parquet, a batch of rows at a time.

A dictionary or a shared prefix lets a file of kilobytes hold gigabytes of text: all rows may name one text of 20 MB. So
a batch is as small as the largest values that its columns can hold demand, and what the rows hold is counted as the
unpacked bytes of any other file are; lists of texts stay packed until they are. Columns that can be no part of a
document (lists of numbers, structs, bytes that are no text) are not unpacked: an embedding would cost more than its
text. Their type stands in for their values. Dates become text, since one that Python has no word for would end the
read.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.corpus.readers.base import LONGEST, ReadBytes, ReadLimits, Row, size
from pipeline.errors import CorpusError

SUFFIXES: tuple[str, ...] = (".parquet",)
_BATCH, _BATCH_BYTES = 1024, 128 << 20
_SAMPLED = 16
"""Rows that show whether bytes are a text."""


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    number = 0
    try:
        unpacked = ReadBytes(path, limits, packed=True)
        with path.open("rb") as stream, _opened(path) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            # The footer is judged before anything is unpacked.
            ReadBytes(path, limits, packed=True).add(sum(group.total_byte_size + _listed(group) for group in groups))
            odd = _odd(file.schema_arrow)
            if groups and (encoded := [name for name, kind in odd.items() if _bytes(kind)]):
                rows = min(_SAMPLED, _batch_rows(groups[0], stream))
                sample = next(file.iter_batches(rows, row_groups=[0], columns=encoded))
                for name in filter(partial(_holds_text, sample), encoded):
                    del odd[name]
            plain = [name for name in file.schema_arrow.names if name not in odd]
            for index, group in enumerate(groups):
                rows = _batch_rows(group, stream)
                for batch in file.iter_batches(rows, row_groups=[index], columns=plain):
                    unpacked.add(sum(map(_listed_characters, batch.columns)))
                    for values in _converted(_dated(batch)):
                        number += 1
                        lengths = [len(value) for value in values.values() if isinstance(value, str)]
                        unpacked.add(sum(lengths))
                        longest = max(map(size, values.values()), default=0)
                        error = f"a text longer than {LONGEST >> 20} MiB" if longest > LONGEST else ""
                        yield Row(f"row {number}", str(number), values | odd, error)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from error


def plain_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, as those of a file."""
    odd = {name: kind for name, kind in _odd(table.schema).items() if not (_bytes(kind) and _holds_text(table, name))}
    for values in _converted(_dated(table.drop_columns(list(odd)))):
        yield values | odd


def _opened(path: Path) -> pq.ParquetFile:
    with pq.ParquetFile(path) as file:
        listed = [field.name for field in file.schema_arrow if _list_depth(field.type)]
        paths = [file.schema.column(index).path for index in range(len(file.schema))]
    return pq.ParquetFile(path, read_dictionary=[at for at in paths if at.partition(".")[0] in listed])


def _listed(group: pq.RowGroupMetaData) -> int:
    """Values that are in lists, of which many can be packed in a byte."""
    columns = [group.column(index) for index in range(group.num_columns)]
    return sum(column.num_values for column in columns if "." in column.path_in_schema)


def _listed_characters(column: pa.Array) -> int:
    """Of a column of lists, the bytes of all texts in them, without unpacking one."""
    if not _list_depth(column.type):
        return 0
    for _ in range(_list_depth(column.type)):
        column = column.flatten()
    if not pa.types.is_dictionary(column.type):
        return int(pc.sum(pc.binary_length(column)).as_py() or 0)
    lengths = pc.cast(pc.binary_length(column.dictionary), pa.int64())
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _converted(batch: pa.RecordBatch | pa.Table) -> Iterator[dict[str, Any]]:
    others = {field.name: field.type for field in batch.schema if _bytes(field.type) or _uuid(field.type)}
    for values in batch.to_pylist():
        for name, kind in others.items():
            if isinstance(value := values[name], bytes):
                try:
                    values[name] = value.decode()
                except UnicodeDecodeError:
                    values[name] = kind
            elif value is not None:
                values[name] = str(value)
        yield values


def _holds_text(sample: pa.RecordBatch | pa.Table, name: str) -> bool:
    """Are the bytes of a column the words of a text? Some writers say of none what it is."""
    values = [value for value in sample.column(name).slice(0, _SAMPLED).to_pylist() if value is not None]
    try:
        return bool(values) and "\0" not in "".join(value.decode() for value in values)
    except UnicodeDecodeError:
        return False


def _dated(rows: Any) -> Any:
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
    return bool(
        _text(kind) or _day(kind) or number or pa.types.is_decimal(kind) or pa.types.is_null(kind) or _uuid(kind)
    ) or bool(_list_depth(kind))


def _uuid(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.UuidType)


def _bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _list_depth(kind: pa.DataType) -> int:
    """1 of a list of texts, 2 of a list of such lists, 0 of anything else."""
    for depth in (1, 2):
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            return 0
        kind = kind.value_type
        if _text(kind):
            return depth
    return 0
