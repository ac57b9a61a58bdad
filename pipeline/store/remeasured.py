"""What other solvers made of a run's questions, beside its journal: one line each, joined to the records on reading."""

from collections.abc import Iterable
from pathlib import Path

from pipeline.store.sealed import Sealed
from pipeline.types import Record, Remeasurement


class Remeasured(Sealed[Remeasurement]):
    """All remeasurements of the run in `folder`, a file for each solver and way of asking it: `name`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "remeasured", "remeasurement", Remeasurement, lambda file, found: file)

    def has(self, name: str, key: str) -> bool:
        return name in self._places.get(key, {})

    def append(self, name: str, found: Remeasurement) -> None:
        """Write one, to stay. Nothing is written if it is there already."""
        self._append(name, found)

    def read(self, name: str, key: str) -> Remeasurement:
        """One of them. Raises KeyError where it is not there."""
        return self._read(self._places[key][name])

    def of(self, key: str) -> list[Remeasurement]:
        """Those of one record, in the order of their names."""
        return [self.read(name, key) for name in sorted(self._places.get(key, {}))]

    def joined(self, record: Record) -> Record:
        """The record with what was found out about it later."""
        found = self.of(record.key)
        return reopened(record, found) if found else record


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
