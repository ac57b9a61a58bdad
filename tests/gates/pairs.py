"""Accepted pairs with changed drafts, and the gates that drop them."""

from pipeline.config.exports import GateConfig
from pipeline.gates import Gates, describe_gates
from pipeline.types import Record
from tests.graph_drafts import changed
from tests.records import accepted


def make_pair(n: int, **draft: object) -> Record:
    """Make an accepted pair of world n with a changed draft."""
    record = accepted(n)
    last = record.rounds[-1]
    assert last.draft
    last = last.model_copy(update={"draft": changed(last.draft, **draft)})
    return record.model_copy(update={"rounds": (*record.rounds[:-1], last)})


def run_gates(records: list[Record], settings: GateConfig = GateConfig()) -> list[str]:  # noqa: B008 - frozen
    """Return the gate that dropped each record, or an empty string if it passed."""
    gates = Gates(settings)
    drops = [gates.admit(gates.check(record)) for record in records]
    return [drop.gate if drop else "" for drop in drops]


def enable_only(gate: str, **settings: object) -> GateConfig:
    return GateConfig(off=tuple(name for name in describe_gates() if name != gate), **settings)
