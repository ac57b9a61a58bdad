"""The gates of a run under way: what they have said for good, and what they would say of seeds that are ahead."""

from collections.abc import Callable

from pipeline.config.gates import GateConfig
from pipeline.gates import Checked, Drop, Gates
from pipeline.store.journal import Head, Journal
from pipeline.types import Record


class Gating:
    """Accepted seeds are weighed as they end and judged in the order of the plan."""

    def __init__(
        self, settings: GateConfig, journal: Journal, joined: Callable[[Record], Record] = lambda record: record
    ) -> None:
        """`joined` adds to a record of the journal what was found out later."""
        self._gates, self._journal, self._joined = Gates(settings), journal, joined
        self._waiting: dict[str, Checked] = {}
        self._judged: dict[str, Drop | None] = {}

    def check(self, record: Record) -> None:
        """A seed was accepted; it waits for its turn."""
        self._waiting[record.key] = self._gates.check(record)

    def judge(self, head: Head) -> Drop | None:
        """What the gates say, for good: all before it have been judged."""
        self._judged[head.key] = drop = self._gates.admit(self._weighed(head.key))
        del self._waiting[head.key]
        return drop

    def preview(self) -> Callable[[Head], Drop | None]:
        """A judge of the plan so far, as if the seeds that have not ended were not there."""
        gates: Gates | None = None

        def judge(head: Head) -> Drop | None:
            nonlocal gates
            if head.key in self._judged:
                return self._judged[head.key]
            gates = gates or self._gates.copy()
            return gates.admit(self._weighed(head.key))

        return judge

    def _weighed(self, key: str) -> Checked:
        if key not in self._waiting:
            self.check(self._joined(self._journal.read(key)))
        return self._waiting[key]
