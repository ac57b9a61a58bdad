"""What `digsite complete` made up of a run's optional stages, beside its journal; joined to the records on reading."""

from pathlib import Path

from pipeline.store.sealed import Sealed
from pipeline.types import CompletedStages, Record


class Completed(Sealed[CompletedStages]):
    """All completions of the run in `folder`, a line for each attempt at a record."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "completed", "completion", CompletedStages, lambda _, found: f"{found.attempt:06}")

    def append(self, found: CompletedStages) -> None:
        """Write one, to stay. Nothing is written if that attempt is there already."""
        self._append("stages", found)

    def attempts(self, key: str) -> int:
        return len(self._places.get(key, ()))

    def last(self, key: str) -> CompletedStages | None:
        """The last attempt at a record."""
        places = self._places.get(key)
        return self._read(places[max(places)]) if places else None

    def missing(self, key: str, before: tuple[str, ...]) -> tuple[str, ...]:
        """What of a record is missing now; `before` is what its journal line says."""
        found = self.last(key) if before else None
        return found.missing if found else before

    def joined(self, record: Record) -> Record:
        """The record with its optional stages as they are now."""
        found = self.last(record.key)
        if found is None:
            return record
        now = {"opposition": found.opposition, "lessons": found.lessons, "missing": found.missing}
        return record.model_copy(update=now)
