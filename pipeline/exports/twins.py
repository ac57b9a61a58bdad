"""The unanswerable twin of a pair as a record of its own, so that every view treats it like any other pair.

The twin has the split of its pair. If the pair passes the gates, the twin is checked again only by the gates that
depend on its own wording and rollouts: it would otherwise count as a duplicate, and "not found" as a frequent answer.
"""

from pipeline.config import RunConfig
from pipeline.gates import load_gate
from pipeline.gates.personal import mask_record
from pipeline.types import Record
from pipeline.types.twin_record import as_record

GATES = ("contaminated", "personal", "solve_rate")


def with_twin(record: Record, config: RunConfig) -> tuple[list[Record], str]:
    """Return the records that views get for a record, and the gate that dropped its twin, if any.

    These are the record itself and its twin, if it has one that passes. Personal data is masked in both.
    """
    twin = as_record(record)
    gate = gate_of_twin(twin, config) if twin else ""
    records = [record, twin] if twin and not gate else [record]
    return [mask_record(pair) for pair in records] if "personal" not in config.gates.off else records, gate


def gate_of_twin(twin: Record, config: RunConfig) -> str:
    """Return the first gate that drops the twin, or an empty text. The twin must not be masked yet."""
    draft, gates = twin.draft, [name for name in GATES if name not in config.gates.off]
    if draft is None:
        return ""
    return next((name for name in gates if load_gate(name).check(draft, twin, config.gates)), "")
