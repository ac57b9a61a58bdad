"""Gates between journal and views decide which accepted pairs count. Every drop has the name of a gate and a reason.

A pair passes all gates, or the first gate, by name, that refuses it drops it. Records are checked in the order of the
plan, and only those that pass are remembered, so what passes is a pure function of journal and settings. A gate may
import loop, agents and the packages below them.
"""

from copy import copy, deepcopy
from hashlib import blake2b
from typing import NamedTuple

from pipeline import registry
from pipeline.config.exports import GateConfig
from pipeline.errors import unknown
from pipeline.gates.base import Gate, GateResult
from pipeline.store.mark_counts import MarkCounts
from pipeline.types import Reason, ReasonCode, Record, Status

Checked = tuple[tuple[str, str | GateResult], ...]
"""The findings of the gates in one record, with their names: small, so that many can wait for their turn."""


class Drop(NamedTuple):
    """Why an accepted pair does not count."""

    gate: str
    why: str

    @property
    def reason(self) -> str:
        """Return the code that the funnel counts."""
        return str(Reason(ReasonCode.GATE, self.gate))


class Gates:
    """All gates that are not off, and for each mark the number of passed pairs that have it."""

    def __init__(self, settings: GateConfig) -> None:
        """Raise UsageError for an unknown gate, or if a gate cannot work with the settings."""
        gates = load_gates()
        if strange := set(settings.off) - set(gates):
            raise unknown("gate", min(strange), gates)
        self.settings = settings
        self._gates = {name: gate for name, gate in gates.items() if name not in settings.off}
        for gate in self._gates.values():
            gate.prepare(settings)
        self._passed = 0
        self._counts = MarkCounts()

    def check(self, record: Record) -> Checked:
        """Return everything that the gates find in a record."""
        draft = record.draft
        if draft is None:
            return ()
        checks = ((name, gate.check(draft, record, self.settings)) for name, gate in self._gates.items())
        findings = ((name, [finding] if isinstance(finding, str) else finding) for name, finding in checks)
        return tuple((name, result) for name, results in findings for result in results if result)

    def admit(self, checked: Checked) -> Drop | None:
        """Let the next record of the plan pass and remember it, or return why it may not pass."""
        keys = set[int]()
        for name, result in checked:
            if isinstance(result, str):
                return Drop(name, result)
            most = max(result.most, int(result.share * (self._passed + 1) + 1e-9))
            mark_keys = [_key(name, mark) for mark in result.marks]
            if any(self._counts[key] >= most for key in mark_keys):
                return Drop(name, result.full)
            keys.update(mark_keys)
        self._passed += 1
        for key in keys:
            self._counts.add(key)
        return None

    def copy(self) -> "Gates":
        gates = copy(self)
        gates._counts = deepcopy(self._counts)
        return gates


def load_gates() -> dict[str, Gate]:
    """Return all gates by name, sorted."""
    return {name: load_gate(name) for name in registry.names("gates")}


def load_gate(name: str) -> Gate:
    return registry.instance("gates", name, Gate)


def describe_gates(settings: GateConfig = GateConfig()) -> dict[str, str]:  # noqa: B008 - frozen
    return {name: registry.describe("gates", name) for name in load_gates() if name not in settings.off}


def mark_dropped(record: Record, drop: Drop) -> Record:
    """Return the accepted record as the data set sees it: rejected, with the gate in its reason."""
    return record.model_copy(update={"status": Status.REJECTED, "reason": drop.reason})


def _key(gate: str, mark: str) -> int:
    # Eight bytes for each mark: a run of a million pairs has 25 million of them.
    return int.from_bytes(blake2b(f"{gate}\n{mark}".encode(), digest_size=8).digest())
