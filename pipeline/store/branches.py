"""The forks of a run, beside its journal: one line each, appended as it ends, joined to the records on reading."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.store.sealed import Sealed
from pipeline.types import Fork, Record

FOLDER = "branches"


class Branches(Sealed[Fork]):
    """All forks of the run in `folder`, a file for each method."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FOLDER, "fork", Fork, lambda file, fork: fork.id)

    def append(self, fork: Fork) -> None:
        """Write one fork, to stay. Nothing is written if it is there already."""
        self._append(fork.method, fork)

    def of(self, key: str) -> tuple[Fork, ...]:
        """The forks of one record, by method, source and state."""
        found = map(self._read, self._places.get(key, {}).values())
        return tuple(sorted(found, key=lambda fork: (fork.method, fork.source, fork.prefix)))

    def joined(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records, each with its forks."""
        for record in records:
            forks = self.of(record.key)
            yield record.model_copy(update={"forks": forks}) if forks else record
