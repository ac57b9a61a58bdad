"""Arrow schemas from Python types, and Arrow tables and Parquet files from rows."""

from collections.abc import Callable
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.store.files import utf8_path


def columns(**kinds: Any) -> pa.Schema:
    return pa.schema(list(arrow(kinds)))


def projection(**table: tuple[Any, Callable[..., Any]]) -> tuple[dict[str, Any], Callable[..., dict[str, Any]]]:
    """Return the column types and a function that builds a row, from each column's type and its reader."""

    def row(*values: Any) -> dict[str, Any]:
        return {name: read(*values) for name, (_, read) in table.items()}

    return {name: kind for name, (kind, _) in table.items()}, row


def arrow(kind: Any, int_type: pa.DataType = pa.int32()) -> pa.DataType:  # noqa: B008 - Arrow's types are constants
    """Return the Arrow type of a Python type.

    Args:
        kind: `str`, `bool`, `int`, `float`, `[kind]` or `list[kind]` for a list, `{name: kind}` for a struct, an Arrow
            type itself, or the annotation of a field, where a class of `types` is a struct and an enum is text.
        int_type: the type of `int`.

    Raises TypeError if no Arrow type holds such values.
    """
    if isinstance(kind, pa.DataType):
        return kind
    if isinstance(kind, list) or get_origin(kind) in {list, tuple}:
        return pa.list_(arrow(kind[0] if isinstance(kind, list) else get_args(kind)[0], int_type))
    if get_origin(kind) is UnionType:
        first, *more_parts = (part for part in get_args(kind) if part is not NoneType)
        return (
            _merge([arrow(part, int_type) for part in (first, *more_parts)]) if more_parts else arrow(first, int_type)
        )
    if fields := getattr(kind, "__pydantic_fields__", None):
        kind = {name: field.annotation for name, field in fields.items()}
    if isinstance(kind, dict):
        return pa.struct([(name, arrow(part, int_type)) for name, part in kind.items()])
    if get_origin(kind) is Literal or issubclass(kind, str):
        return pa.string()
    types = {bool: pa.bool_(), int: int_type, float: pa.float64()}
    if kind not in types:
        raise TypeError(f"no Arrow type holds {kind!r}: give str, bool, int, float, [kind] or {{name: kind}}")
    return types[kind]


def _merge(structs: list[pa.DataType]) -> pa.DataType:
    return pa.struct(list({field.name: field for struct in structs for field in struct}.values()))


def table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    # Read as one struct, row by row, which needs no list for each column. It cannot build extension types, so JSON is
    # read as text first.
    storage = plain(schema)
    rows_table = pa.Table.from_struct_array(pa.array(rows, type=pa.struct(storage)))
    return rows_table if storage == schema else rows_table.cast(schema)


def plain(schema: pa.Schema) -> pa.Schema:
    """Return the schema with text in place of Arrow's JSON type."""
    return pa.schema([field.with_type(_storage(field.type)) for field in schema])


def _storage(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return pa.list_(_storage(kind.value_type)) if pa.types.is_list(kind) else kind


def parquet_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(utf8_path(path), schema, compression="zstd")
