"""`records`: everything, nested; the source that any other view can be made from again.

Consumer: our own tools and anyone's analysis. A row is the JSON of a `types.Record`, with how the rollouts went that
its difficulty rests on (`process`), how the shortcut seeker did on the question (`seeker_*`), and whether it may be
trained on; `record` turns a row back into the record.
The schema is that of the types, field by field: texts, whole numbers of 64 bits, lists, structs.
"""

from typing import Any

import pyarrow as pa

from pipeline.agents.environment_file import Environment
from pipeline.analysis.rollout_metrics import RolloutMetrics, measured, process
from pipeline.exports.views.base import Rows, ViewOptions
from pipeline.store.arrow import arrow
from pipeline.types import Record, seeker

_SEEKER = ("seeker_tries", "seeker_solved", "seeker_steps")
_ADDED = (*_SEEKER, "process", "trainable")
"""Columns that a record does not have."""
WHOLE = pa.int64()
_RECORD = arrow(Record, WHOLE)
SCHEMA = pa.schema(
    [
        *_RECORD,
        *((name, WHOLE) for name in _SEEKER),
        ("process", pa.list_(arrow(RolloutMetrics, WHOLE))),
        ("trainable", pa.bool_()),
    ]
)
OPTIONS = ViewOptions(env_specific=False, takes_twins=False)


def rows(record: Record, environment: Environment) -> Rows:
    went = [process(*one).model_dump(mode="json") for one in measured(record)]
    added = {"process": went, "trainable": record.lineage.trainable}
    sought = seeker(record.last.probes if record.last else ())
    yield _filled(record.model_dump(mode="json"), _RECORD) | sought | added


def _filled(value: Any, kind: pa.DataType) -> Any:
    """A value of that type, with what the journal leaves out where it is empty: a column has room for it."""
    if value is not None and pa.types.is_struct(kind):
        return {f.name: _filled(value[f.name], f.type) if f.name in value else _empty(f.type) for f in kind}
    if value and pa.types.is_list(kind) and pa.types.is_nested(kind.value_type):
        return [_filled(item, kind.value_type) for item in value]
    return value


def _empty(kind: pa.DataType) -> Any:
    if pa.types.is_nested(kind):
        return [] if pa.types.is_list(kind) else None
    return False if pa.types.is_boolean(kind) else 0 if pa.types.is_integer(kind) else ""


def record(row: dict[str, Any]) -> Record:
    """The inverse of `rows`."""
    return Record.model_validate({name: value for name, value in row.items() if name not in _ADDED})
