"""`records`: everything, nested; the source that any other view can be made from again.

Consumer: our own tools and anyone's analysis. A row is the JSON of a `types.Record`, with how the rollouts went that
its difficulty rests on (`process`), and whether it may be trained on; `record` turns a row back into the record.
The schema is that of the types, field by field: texts, whole numbers of 64 bits, lists, structs.
"""

from collections.abc import Container
from typing import Any

import pyarrow as pa

from pipeline.agents.environment_file import Environment
from pipeline.analysis.rollout_metrics import RolloutMetrics, measured, process
from pipeline.exports.views.base import Rows, ViewOptions
from pipeline.store.arrow import arrow
from pipeline.types import Record

_ADDED = ("process", "trainable")
"""Columns that a record does not have."""
WHOLE = pa.int64()
_LEFT_OUT = ("server_fields",)
"""What is meant for the model's server alone."""


def _without(kind: pa.DataType, names: Container[str]) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without(field.type, names)) for field in kind if field.name not in names])
    return pa.list_(_without(kind.value_type, names)) if pa.types.is_list(kind) else kind


_RECORD = _without(arrow(Record, WHOLE), _LEFT_OUT)
SCHEMA = pa.schema(
    [
        *_RECORD,
        ("process", pa.list_(arrow(RolloutMetrics, WHOLE))),
        ("trainable", pa.bool_()),
    ]
)
OPTIONS = ViewOptions(env_specific=False, takes_twins=False)


def rows(record: Record, environment: Environment) -> Rows:
    went = [process(*one).model_dump(mode="json") for one in measured(record)]
    added = {"process": went, "trainable": record.lineage.trainable}
    yield _strip(record.model_dump(mode="json")) | added


def _strip(tree: Any) -> Any:
    """Return a JSON tree without the fields that are left out, at any depth."""
    if isinstance(tree, dict):
        return {name: _strip(value) for name, value in tree.items() if name not in _LEFT_OUT}
    return [_strip(value) for value in tree] if isinstance(tree, list) else tree


def record(row: dict[str, Any]) -> Record:
    """Return the record of a row."""
    fields = {name: value for name, value in row.items() if name not in _ADDED}
    return Record.model_validate(fields | {"rounds": list(map(_without_nulls, row["rounds"]))})


def _without_nulls(past: dict[str, Any]) -> dict[str, Any]:
    """Return a round whose steps have the fields of their own kind only: a column holds those of both kinds."""
    if (draft := past["draft"]) is None:
        return past
    steps = [{name: value for name, value in step.items() if value is not None} for step in draft["graph"]["steps"]]
    return past | {"draft": draft | {"graph": {"steps": steps}}}
