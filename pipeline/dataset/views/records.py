"""`records`: everything, nested; the source that any other view can be made from again.

Consumer: our own tools and anyone's analysis. A row is the JSON of a `types.Record`, with how the rollouts went that
its difficulty rests on (`process`), and whether it may be trained on; `record` turns a row back into the record.
The schema is that of the types, field by field: texts, whole numbers of 64 bits, lists, structs.
"""

from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.dataset.process import Process, measured, process
from pipeline.dataset.views.base import Rows, arrow
from pipeline.types import Record

_ADDED = ("process", "trainable")
"""Columns that a record does not have."""
TWINS = False
"""A twin is a part of the record of its pair."""
WHOLE = pa.int64()
BOUND = False
SCHEMA = pa.schema([*arrow(Record, WHOLE), ("process", pa.list_(arrow(Process, WHOLE))), ("trainable", pa.bool_())])


def rows(record: Record, environment: Environment) -> Rows:
    went = [process(*one).model_dump(mode="json") for one in measured(record)]
    yield {**_columns(record), "process": went, "trainable": record.lineage.trainable}


def _columns(record: Record) -> dict[str, Any]:
    tree = record.model_dump(mode="json")
    # The journal has no room for what hardly a draft or round has; a column has.
    tree.setdefault("one_search", [])
    tree.setdefault("agreed_answer", "")
    for past in tree["rounds"]:
        past["draft"] and past["draft"].setdefault("answer_items", [])
        for hop in past["draft"]["hops"] if past["draft"] else ():
            hop.setdefault("answer_aliases", [])
        past.setdefault("policy_rollouts", [])
        past.setdefault("policy_verdicts", [])
        _named(*past["findings"], *past["probes"], *past["checked"])
    _named(*(tree["twin"]["tries"] if tree["twin"] else ()))
    return tree


def _named(*checks: dict[str, Any]) -> None:
    for check in checks:
        for search in check["searches"]:
            search.setdefault("retriever", "")


def record(row: dict[str, Any]) -> Record:
    """The inverse of `rows`."""
    return Record.model_validate({name: value for name, value in row.items() if name not in _ADDED})
