"""Schemas from Python types, and rows into Arrow's tables and Parquet files."""

from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.store.files import utf8_path


def columns(**kinds: Any) -> pa.Schema:
    """A schema of these columns; see `arrow` for their types."""
    return pa.schema(list(arrow(kinds)))


def arrow(kind: Any, whole: pa.DataType = pa.int32()) -> pa.DataType:  # noqa: B008 - Arrow's types are constants
    """The Arrow type of `str`, `bool`, `int` (as `whole`), `float`, `[kind]` for a list, `{name: kind}` for a struct,
    an Arrow type itself, or the annotation of a field, where a class of `types` is a struct and an enum a text."""
    if isinstance(kind, pa.DataType):
        return kind
    if isinstance(kind, list) or get_origin(kind) is tuple:
        return pa.list_(arrow(kind[0] if isinstance(kind, list) else get_args(kind)[0], whole))
    if get_origin(kind) is UnionType:
        first, *others = (part for part in get_args(kind) if part is not NoneType)
        return _merge([arrow(part, whole) for part in (first, *others)]) if others else arrow(first, whole)
    if fields := getattr(kind, "__pydantic_fields__", None):
        kind = {name: field.annotation for name, field in fields.items()}
    if isinstance(kind, dict):
        return pa.struct([(name, arrow(part, whole)) for name, part in kind.items()])
    return {bool: pa.bool_(), int: whole, float: pa.float64()}.get(kind, pa.string())


def _merge(structs: list[pa.DataType]) -> pa.DataType:
    """Return a struct with the fields of all of these, each once; a value has null for those of other kinds."""
    return pa.struct(list({field.name: field for struct in structs for field in struct}.values()))


def table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """The rows under the schema; JSON comes as text."""
    # As one struct, which Arrow reads row by row without a list for each column; it builds no extension types.
    storage = plain(schema)
    made = pa.Table.from_struct_array(pa.array(rows, type=pa.struct(storage)))
    return made if storage == schema else made.cast(schema)


def plain(schema: pa.Schema) -> pa.Schema:
    """With text in place of Arrow's JSON type."""
    return pa.schema([field.with_type(_storage(field.type)) for field in schema])


def _storage(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return pa.list_(_storage(kind.value_type)) if pa.types.is_list(kind) else kind


def parquet_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Writes a file whose final place is somebody else's to give."""
    return pq.ParquetWriter(utf8_path(path), schema, compression="zstd")
