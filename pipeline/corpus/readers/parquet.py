"""Parquet files, read one batch of rows at a time.

With a dictionary a file of kilobytes can contain gigabytes of text: all rows may refer to one text of 20 MB. So texts
stay in their dictionaries until their unpacked sizes are counted, and a large batch is then unpacked in pieces. Arrow
does not read dictionaries of texts that share prefixes, so the largest possible value of such a column limits its
batches.

Columns and fields that cannot be part of a document (lists of numbers, bytes that are not text) are not unpacked: an
embedding would cost more than its text. Their values are replaced by the type of the column. Dates become text, since a
date that Python cannot represent would raise an error.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.corpus.parquet_pages import BadPageError, unpacked_sizes
from pipeline.corpus.readers.base import LONGEST, ReadBytes, Reader, ReadLimits, Row, size
from pipeline.errors import CorpusError
from pipeline.store.files import utf8_path

_BATCH, _BATCH_BYTES = 4096, 128 << 20
_SAMPLED = 16
"""The number of rows from which bytes are recognised as text."""
_MOST_PIECES = 500_000
"""The most columns times row groups of a file. Each costs 0.2 ms before the first row is read."""
_NUMBERS = {"BOOLEAN", "INT32", "INT64", "FLOAT", "DOUBLE"}


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    number = 0
    try:
        unpacked = ReadBytes(path, limits, packed=True)
        with _open(path) as file:
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            # Check the sizes of the pages before anything is unpacked.
            sizes = unpacked_sizes(path, file.metadata)
            ReadBytes(path, limits, packed=True).add(sum(map(sum, sizes)) + sum(map(_count_nested, groups)))
            odd = _odd(file.schema_arrow)
            if groups and (encoded := [name for name, kind in odd.items() if _bytes(kind)]):
                rows = min(_SAMPLED, _batch_rows(groups[0], sizes[0]))
                sample = next(file.iter_batches(rows, row_groups=[0], columns=encoded))
                for name in filter(partial(_holds_text, sample), encoded):
                    del odd[name]
            plain = {name for name in file.schema_arrow.names if name not in odd}
            leaves = map(file.schema.column, range(len(file.schema)))
            columns = [leaf.path for leaf in leaves if _is_read(leaf, plain)]
            for index, group in enumerate(groups):
                for batch in file.iter_batches(_batch_rows(group, sizes[index]), row_groups=[index], columns=columns):
                    unpacked.add(_text_bytes(batch))
                    for values in (values for piece in _pieces(batch) for values in _convert(_dates_to_text(piece))):
                        number += 1
                        longest = max(map(size, values.values()), default=0)
                        error = f"a text longer than {LONGEST >> 20} MiB" if longest > LONGEST else ""
                        yield Row(f"row {number}", str(number), values | odd, error)
    except (OSError, pa.ArrowException, UnicodeDecodeError, BadPageError) as error:
        raise CorpusError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from error


def plain_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table in the form of those of a file."""
    odd = {name: kind for name, kind in _odd(table.schema).items() if not (_bytes(kind) and _holds_text(table, name))}
    for values in _convert(_dates_to_text(table.drop_columns(list(odd)))):
        yield values | odd


def _open(path: Path) -> pq.ParquetFile:
    with pq.ParquetFile(utf8_path(path)) as file:
        columns_count, groups_count = file.metadata.num_columns, file.metadata.num_row_groups
        if columns_count * groups_count > _MOST_PIECES:
            raise CorpusError(
                f"{path}: {columns_count:,} columns times {groups_count:,} row groups are more than {_MOST_PIECES:,} "
                "column chunks; write only the text columns to a new file, or write larger row groups"
            )
        groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
        columns = [group.column(index) for group in groups for index in range(group.num_columns)]
    texts = {column.path_in_schema for column in columns if column.physical_type == "BYTE_ARRAY"}
    plain = texts.difference(c.path_in_schema for c in columns if _is_delta(c))
    return pq.ParquetFile(utf8_path(path), read_dictionary=[*plain])


def _is_delta(column: pq.ColumnChunkMetaData) -> bool:
    return column.physical_type == "BYTE_ARRAY" and any(name.startswith("DELTA") for name in column.encodings)


def _is_read(leaf: pq.ColumnSchema, plain: set[str]) -> bool:
    if leaf.path in plain:
        return True
    kind = leaf.logical_type.type
    number = leaf.physical_type in _NUMBERS and kind in {"NONE", "INT"} and not leaf.max_repetition_level
    return leaf.path.partition(".")[0] in plain and (number or kind in {"STRING", "ENUM", "JSON"})


def _count_nested(group: pq.RowGroupMetaData) -> int:
    """Return the number of values in lists and structs: many of them can be packed in a byte."""
    columns = [group.column(index) for index in range(group.num_columns)]
    return sum(column.num_values for column in columns if "." in column.path_in_schema)


def _text_bytes(batch: pa.RecordBatch) -> int:
    """Return the bytes of all texts of a batch once they are unpacked, without unpacking them."""
    return sum(map(_array_bytes, batch.columns))


def _array_bytes(array: pa.Array) -> int:
    if pa.types.is_struct(array.type):
        return sum(map(_array_bytes, array.flatten()))
    if _is_list(array.type):
        return _array_bytes(array.flatten())
    if not (_text(array.type) or _bytes(array.type)):
        return 0
    if not pa.types.is_dictionary(array.type):
        return int(pc.sum(pc.binary_length(array)).as_py() or 0)
    lengths = pc.cast(pc.binary_length(array.dictionary), pa.int64())
    return int(pc.sum(lengths.take(array.indices)).as_py() or 0)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows in pieces that stay within `_BATCH_BYTES` or have one row."""
    if batch.num_rows < 2 or _text_bytes(batch) <= _BATCH_BYTES:
        yield batch
    else:
        half = batch.num_rows // 2
        yield from _pieces(batch.slice(0, half))
        yield from _pieces(batch.slice(half))


def _convert(batch: pa.RecordBatch | pa.Table) -> Iterator[dict[str, Any]]:
    byte_columns = {field.name: field.type for field in batch.schema if _bytes(field.type) or _uuid(field.type)}
    # Python reads a plain column much faster than one with a dictionary.
    kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in batch.schema.types]
    columns = [column.cast(kind) for column, kind in zip(batch.columns, kinds, strict=True)]
    for values in batch.from_arrays(columns, batch.schema.names).to_pylist():
        for name, kind in byte_columns.items():
            if isinstance(value := values[name], bytes):
                try:
                    values[name] = value.decode()
                except UnicodeDecodeError:
                    values[name] = kind
            elif value is not None:
                values[name] = str(value)
        yield values


def _holds_text(sample: pa.RecordBatch | pa.Table, name: str) -> bool:
    """Return whether the bytes of a column are text. Some writers do not mark text columns as such."""
    values = [value for value in sample.column(name).slice(0, _SAMPLED).to_pylist() if value is not None]
    try:
        return bool(values) and "\0" not in "".join(value.decode() for value in values)
    except UnicodeDecodeError:
        return False


def _dates_to_text(rows: Any) -> Any:
    # Replacing one column copies the list of all others, which takes minutes with 20,000 dates.
    columns = [_days(column) if _day(column.type) else column for column in rows.columns]
    return type(rows).from_arrays(columns, names=rows.schema.names)


def _days(column: Any) -> Any:
    # Remove the time zone, whose name may be unknown on this machine.
    plain = pa.timestamp(column.type.unit) if pa.types.is_timestamp(column.type) else column.type
    return column.cast(plain).cast(pa.date32(), safe=False).cast(pa.string())


def _odd(schema: pa.Schema) -> dict[str, Any]:
    """Return the columns that cannot be part of a document, with their types."""
    return {field.name: field.type for field in schema if not _plain(field.type)}


def _batch_rows(group: pq.RowGroupMetaData, sizes: list[int]) -> int:
    """Return how many rows stay within `_BATCH_BYTES`, if all rows of a column without a dictionary have one size."""
    largest = [size for index, size in enumerate(sizes) if _is_delta(group.column(index))]
    usual = sum(sizes) / max(1, group.num_rows)
    return max(1, min(_BATCH, int(_BATCH_BYTES / max(1, usual, *largest))))


def _text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _day(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _plain(kind: pa.DataType) -> bool:
    number = pa.types.is_primitive(kind) and not pa.types.is_temporal(kind)
    return bool(
        _day(kind) or number or pa.types.is_decimal(kind) or pa.types.is_null(kind) or _uuid(kind) or _has_text(kind)
    )


def _has_text(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        # Arrow cannot build a dictionary for two fields of the same name.
        return len({field.name for field in fields}) == len(fields) and any(_has_text(field.type) for field in fields)
    return _has_text(kind.value_type) if _is_list(kind) else _text(kind)


def _uuid(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.UuidType)


def _bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _bytes(kind.value_type)
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


READER = Reader(read=read, suffixes=(".parquet",))
