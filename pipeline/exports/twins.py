"""The unanswerable twin of a pair as a record of its own, so that every view takes it as it takes any pair.

It lies on the side of its pair and passes where its pair passes: it is no duplicate of it, and "not found" is no answer
that too many have. Only what depends on its own words and rollouts is asked of it again.
"""

from pipeline import registry
from pipeline.config import RunConfig
from pipeline.gates.personal import mask_record
from pipeline.types import Record
from pipeline.types.twin_record import as_record

GATES = ("contaminated", "personal", "solve_rate")


def with_twin(record: Record, config: RunConfig) -> tuple[list[Record], str]:
    """What the views are given of a record, as it may be passed on: itself, and its twin if it has one that
    passes; and the gate that dropped the twin, if one did."""
    twin = as_record(record)
    gate = gate_of_twin(twin, config) if twin else ""
    given = [record, twin] if twin and not gate else [record]
    return [mask_record(one) for one in given] if "personal" not in config.gates.off else given, gate


def gate_of_twin(twin: Record, config: RunConfig) -> str:
    """The first gate that drops the twin; empty where it passes. It must see what no view is to show."""
    asked = (name for name in GATES if name not in config.gates.off)
    return next((name for name in asked if registry.load("gates", name).check(twin.draft, twin, config.gates)), "")
