"""`records`: everything, nested; the source from which every other view can be made again.

Consumer: Digsite's tools and your own analysis. A row is the JSON of a `types.Record`, with the metrics of the rollouts
that set its difficulty (`process`), and whether it may be used for training. `record` turns a row back into the record.
The schema follows the types, field by field: texts, 64-bit integers, lists, structs.
"""

from collections.abc import Container
from typing import Any

import pyarrow as pa

from pipeline.agents.environment_file import Environment
from pipeline.analysis.rollout_metrics import RolloutMetrics, measure_rollout, measured_rollouts
from pipeline.exports.views.base import Rows, View, ViewOptions
from pipeline.store.arrow import arrow
from pipeline.types import Record
from pipeline.types.graph import ComputedStep, FoundStep, Graph

_ADDED = ("process", "trainable")
"""Columns that are no fields of a record."""
WHOLE = pa.int64()
_NO_STEP = dict.fromkeys((*FoundStep.model_fields, *ComputedStep.model_fields))
_LEFT_OUT = ("server_fields",)
"""Fields that only the model's server needs."""


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


def rows(record: Record, environment: Environment) -> Rows:
    metrics = [measure_rollout(*rollout).model_dump(mode="json") for rollout in measured_rollouts(record)]
    yield _strip(record.model_dump(mode="json")) | {"process": metrics, "trainable": record.lineage.trainable}


def _strip(tree: Any) -> Any:
    """Remove the fields of _LEFT_OUT from a JSON tree. Give each step of a graph the fields of both kinds."""
    if isinstance(tree, dict):
        fields = {name: _strip(value) for name, value in tree.items() if name not in _LEFT_OUT}
        if tree.keys() == Graph.model_fields.keys():
            fields["steps"] = [_NO_STEP | step for step in fields["steps"]]
        return fields
    return [_strip(value) for value in tree] if isinstance(tree, list) else tree


def record(row: dict[str, Any]) -> Record:
    fields = {name: value for name, value in row.items() if name not in _ADDED}
    return Record.model_validate(fields | {"rounds": list(map(_without_nulls, row["rounds"]))})


def _without_nulls(past: dict[str, Any]) -> dict[str, Any]:
    """Remove from each step of the round's graph the fields of the other kind, which are null in a row."""
    if (draft := past["draft"]) is None:
        return past
    steps = [{name: value for name, value in step.items() if value is not None} for step in draft["graph"]["steps"]]
    return past | {"draft": draft | {"graph": {"steps": steps}}}


VIEW = View(rows, SCHEMA, ViewOptions(env_specific=False, takes_twins=False))
