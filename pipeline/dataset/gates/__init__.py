"""Gates between journal and views: which of the accepted pairs count. Every drop has a gate's name and a reason.

A pair passes all gates or is dropped by the first, by name, that refuses it. Records are judged in the order of the
plan, and only those that pass are remembered, so what passes is a pure function of journal and settings.
"""

from hashlib import blake2b
from typing import NamedTuple

from pipeline import registry
from pipeline.config.gates import GateConfig
from pipeline.dataset import glossary
from pipeline.dataset.gates.base import GateResult
from pipeline.types import Record, Status

Checked = tuple[tuple[str, GateResult], ...]
"""What the gates say of one record, by name: small, so that many can wait for their turn."""


class Drop(NamedTuple):
    """Why an accepted pair does not count."""

    gate: str
    why: str

    @property
    def reason(self) -> str:
        """The code that the funnel counts."""
        return f"gate:{self.gate}"


class Gates:
    """All gates that are not off, and what they remember: a count for each mark of the pairs that passed."""

    def __init__(self, settings: GateConfig) -> None:
        """Raises UsageError for an unknown gate, or where one cannot work with the settings."""
        for name in settings.off:
            registry.load("gates", name)
        self.settings = settings
        self._gates = {
            name: registry.load("gates", name) for name in registry.names("gates") if name not in settings.off
        }
        for gate in self._gates.values():
            if hasattr(gate, "ready"):
                gate.ready(settings)
        self._passed = 0
        self._borne: dict[int, int] = {}

    def check(self, record: Record) -> Checked:
        """Everything that the gates say of a record."""
        draft = record.draft
        if draft is None:
            return ()
        return tuple(
            (name, weight) for name, gate in self._gates.items() for weight in gate.check(draft, record, self.settings)
        )

    def admit(self, checked: Checked) -> Drop | None:
        """Let the next record of the plan through, which is then remembered, or say why not."""
        for name, weight in checked:
            if weight.drop:
                return Drop(name, weight.drop)
            most = max(weight.most, int(weight.share * (self._passed + 1) + 1e-9))
            if any(self._borne.get(_key(name, mark), 0) >= most for mark in weight.marks):
                return Drop(name, weight.full)
        self._passed += 1
        for key in {_key(name, mark) for name, weight in checked for mark in weight.marks}:
            self._borne[key] = self._borne.get(key, 0) + 1
        return None

    def copy(self) -> "Gates":
        """The same, to try further records on."""
        other = Gates(self.settings)
        other._passed, other._borne = self._passed, dict(self._borne)
        return other


def described(settings: GateConfig) -> dict[str, str]:
    """What each gate that is not off drops, by name."""
    return {name: drops for name, drops in glossary.gates().items() if name not in settings.off}


def dropped(record: Record, drop: Drop) -> Record:
    """The accepted record as the data set sees it: rejected, with the gate in its reason."""
    return record.model_copy(update={"status": Status.REJECTED, "reason": drop.reason})


def _key(gate: str, mark: str) -> int:
    """Eight bytes for each mark: a run of 200,000 pairs has millions of them."""
    return int.from_bytes(blake2b(f"{gate}\n{mark}".encode(), digest_size=8).digest())


__all__ = ["Checked", "Drop", "Gates", "described", "dropped"]
