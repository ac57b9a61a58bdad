"""`records`: everything, nested; the source that any other view can be made from again.

Consumer: our own tools and anyone's analysis. A row is the JSON of a `types.Record`, with how the rollouts went that
its difficulty rests on (`process`), and whether it may be trained on; `record` turns a row back into the very record.
The schema is that of the types, field by field: texts, whole numbers of 64 bits, lists, structs.
"""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.process import Process, measured, process
from pipeline.types import Data, Lean, Record
from pipeline.views.base import trainable

_PLAIN = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def arrow(kind: Any) -> pa.DataType:
    """What holds a field of that annotation: one of a type's, or one of `_PLAIN`, or else a text."""
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        return arrow(next(part for part in parts if part is not NoneType))
    if get_origin(kind) is tuple:
        return pa.list_(arrow(parts[0]))
    if get_origin(kind) is not Literal and issubclass(kind, Data | Lean):
        return pa.struct([(name, arrow(field.annotation)) for name, field in kind.__pydantic_fields__.items()])
    return _PLAIN.get(kind, pa.string())


SCHEMA = pa.schema([*arrow(Record), ("process", pa.list_(arrow(Process))), ("trainable", pa.bool_())])


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    went = [process(*one).model_dump(mode="json") for one in measured(record)]
    yield {**record.model_dump(mode="json"), "process": went, "trainable": trainable(record)}


def record(row: dict[str, Any]) -> Record:
    """The inverse of `rows`."""
    return Record.model_validate({name: row[name] for name in Record.model_fields})
