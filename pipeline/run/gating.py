"""The gates of a run that is going on: their final decisions, and their preliminary ones on seeds further ahead."""

from collections.abc import Callable

from pipeline.config.exports import GateConfig
from pipeline.gates import Checked, Drop, Gates
from pipeline.store.journal import Head, Journal
from pipeline.types import Record


class Gating:
    """Weighs accepted seeds as they end, and judges them in the order of the plan."""

    def __init__(
        self, settings: GateConfig, journal: Journal, joined: Callable[[Record], Record] = lambda record: record
    ) -> None:
        """Set up the gates. `joined` adds later findings to a record of the journal."""
        self._gates, self._journal, self._joined = Gates(settings), journal, joined
        self._waiting: dict[str, Checked] = {}
        self._judged: dict[str, Drop | None] = {}

    def check(self, record: Record) -> None:
        self._waiting[record.key] = self._gates.check(record)

    def judge(self, head: Head) -> Drop | None:
        """Return the final decision of the gates, once all earlier seeds have been judged."""
        self._judged[head.key] = drop = self._gates.admit(self._weigh(head.key))
        del self._waiting[head.key]
        return drop

    def preview(self) -> Callable[[Head], Drop | None]:
        gates: Gates | None = None

        def judge(head: Head) -> Drop | None:
            nonlocal gates
            if head.key in self._judged:
                return self._judged[head.key]
            gates = gates or self._gates.copy()
            return gates.admit(self._weigh(head.key))

        return judge

    def _weigh(self, key: str) -> Checked:
        if key not in self._waiting:
            self.check(self._joined(self._journal.read(key)))
        return self._waiting[key]
