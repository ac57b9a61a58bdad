"""What other solvers made of a run's questions, beside its journal: one line each, joined to the records on reading."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.store.files import Appender, crash_point
from pipeline.store.sealed import seal, unseal
from pipeline.types import Record, Remeasurement

FOLDER, KIND = "remeasured", "remeasurement"


class Remeasured:
    """All remeasurements of the run in `folder`, a file for each solver and way of asking it: `name`.

    Of two lines of one record in one file the first counts. Reading changes nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._appenders: dict[str, Appender] = {}
        self._places: dict[str, dict[str, int]] = defaultdict(dict)
        """Offsets by key, then by name; the names in their order."""
        for path in sorted(self._folder.glob("*.jsonl")):
            self._index(path)

    def has(self, name: str, key: str) -> bool:
        return name in self._places.get(key, {})

    def append(self, name: str, found: Remeasurement) -> None:
        """Write one, to stay. Nothing is written if it is there already."""
        if self.has(name, found.key):
            return
        if name not in self._appenders:
            self._appenders[name] = Appender(self._path(name))
        crash_point("before_append")
        self._places[found.key][name] = self._appenders[name].append(seal(KIND, found))

    def of(self, key: str) -> list[Remeasurement]:
        """Those of one record, in the order of their names."""
        return [self.read(name, key) for name in sorted(self._places.get(key, {}))]

    def joined(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records with what was found out about them later."""
        for record in records:
            found = self.of(record.key)
            yield reopened(record, found) if found else record

    def close(self) -> None:
        for appender in self._appenders.values():
            appender.close()
        self._appenders = {}

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def _index(self, path: Path) -> None:
        offset = 0
        with path.open("rb") as file:
            for line in file:
                if found := unseal(KIND, line, Remeasurement):
                    self._places[found.key].setdefault(path.stem, offset)
                offset += len(line)

    def read(self, name: str, key: str) -> Remeasurement:
        """One of them. Raises KeyError where it is not there."""
        with self._path(name).open("rb") as file:
            file.seek(self._places[key][name])
            found = unseal(KIND, file.readline(), Remeasurement)
        if found is None:
            raise StoreError(f"{self._path(name)} was damaged while it was read; repeat the command")
        return found


def reopened(record: Record, found: Iterable[Remeasurement]) -> Record:
    """The record with all assessments; what was beyond the run's solver and another solves is measured by that one.

    Its rollouts then stand as the confirmation and its name among the models, the first such solver's that meets the
    target. The status stays: an export takes such a pair where it is told to include `beyond_solver`.
    """
    others = list(found)
    changed: dict[str, object] = {"assessments": (*record.assessments, *(other.assessment for other in others))}
    if record.reason == "beyond_solver":
        for other in others:
            steps, solver = other.assessment.least_steps, other.assessment.solver
            if steps is not None and steps >= record.seed.target_steps:
                names = dict.fromkeys([*record.lineage.model.split(" + "), solver])
                changed["confirmation"] = other.rollouts
                changed["confirmation_verdicts"] = other.verdicts
                changed["lineage"] = record.lineage.model_copy(update={"model": " + ".join(names)})
                break
    return record.model_copy(update=changed)
