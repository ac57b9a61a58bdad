"""The forks of a run, beside its journal: one line each, appended as it ends, joined to the records on reading.

A torn or damaged line is no line: its fork is asked about again.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import StoreError
from pipeline.store.files import Appender, crash_point
from pipeline.store.sealed import seal, unseal
from pipeline.types import Fork, Record

FOLDER, KIND = "branches", "fork"


class _Place(NamedTuple):
    path: Path
    offset: int


class Branches:
    """All forks of the run in `folder`, a file for each method. Reading them changes nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._appenders: dict[str, Appender] = {}
        self.calls: dict[str, int] = {}
        """What each fork took, by its id."""
        self._places: dict[str, dict[str, _Place]] = defaultdict(dict)
        for path in sorted(self._folder.glob("*.jsonl")):
            self._index(path)

    def append(self, fork: Fork) -> None:
        """Write one fork, to stay. Nothing is written if it is there already."""
        if fork.id in self.calls:
            return
        path = self._folder / f"{fork.method}.jsonl"
        if fork.method not in self._appenders:
            self._appenders[fork.method] = Appender(path)
        crash_point("before_append")
        self._note(fork, _Place(path, self._appenders[fork.method].append(seal(KIND, fork))))

    def of(self, key: str) -> tuple[Fork, ...]:
        """The forks of one record, by method, source and state."""
        found = [self._read(place) for place in self._places.get(key, {}).values()]
        return tuple(sorted(found, key=lambda fork: (fork.method, fork.source, fork.prefix)))

    def joined(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records, each with its forks."""
        for record in records:
            forks = self.of(record.key)
            yield record.model_copy(update={"forks": forks}) if forks else record

    def close(self) -> None:
        for appender in self._appenders.values():
            appender.close()
        self._appenders = {}

    def _index(self, path: Path) -> None:
        offset = 0
        with path.open("rb") as file:
            for line in file:
                if fork := unseal(KIND, line, Fork):
                    self._note(fork, _Place(path, offset))
                offset += len(line)

    def _note(self, fork: Fork, place: _Place) -> None:
        if fork.id not in self.calls:
            self.calls[fork.id] = fork.calls
            self._places[fork.key][fork.id] = place

    def _read(self, place: _Place) -> Fork:
        with place.path.open("rb") as file:
            file.seek(place.offset)
            fork = unseal(KIND, file.readline(), Fork)
        if fork is None:
            raise StoreError(f"{place.path} was damaged while it was read; repeat the command")
        return fork
