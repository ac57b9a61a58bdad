"""Values added to the records of a run after they were journalled.

They are kept in files beside the journal and joined to the records on reading.

A line is `{"sha256": ..., "<kind>": {...}}`. A torn or damaged line is ignored, and can be written again.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from pydantic import ValidationError

from pipeline.errors import StoreError
from pipeline.store.checked_lines import files_of_lines, hash_of, line_at, match_line, scan_lines
from pipeline.store.files import Appender
from pipeline.types import CompletedStages, Fork, PolicyMeasurement, Record, twin_key

T = TypeVar("T", bound=Fork | PolicyMeasurement | CompletedStages)


class _Additions(Generic[T]):
    """Values of one type, by the key of their record and a name that is unique within the record.

    If two lines have the same key and name, the first counts. Reading changes nothing. `damaged` counts the lines that
    cannot be read; some of them may have been written again since.
    """

    def __init__(self, folder: Path, kind: str, model: type[T], name: Callable[[str, T], Any]) -> None:
        """Index the lines of `folder`.

        Args:
            name: takes the stem of the value's file and the value, and returns a sortable name.
        """
        self.damaged = 0
        self._folder, self._kind, self._model, self._name = folder, kind.encode(), model, name
        self._pattern = re.compile(rb'\{"sha256":"([0-9a-f]{64})","%b":(.*)\}\n' % self._kind, re.DOTALL)
        self._appenders: dict[str, Appender] = {}
        self._positions: dict[str, dict[Any, tuple[Path, int]]] = defaultdict(dict)
        for path in files_of_lines(folder):
            for offset, _, match in scan_lines(path, self._pattern):
                if value := self._value(match):
                    self._positions[value.key].setdefault(name(path.stem, value), (path, offset))
                else:
                    self.damaged += 1

    def append(self, file: str, value: T) -> None:
        """Write one value durably, unless its name exists already."""
        name = self._name(file, value)
        if self.has(value.key, name):
            return
        path = self._folder / f"{file}.jsonl"
        if file not in self._appenders:
            self._appenders[file] = Appender(path)
        body = value.model_dump_json().encode()
        line = b'{"sha256":"%b","%b":%b}' % (hash_of(body), self._kind, body)
        self._positions[value.key][name] = path, self._appenders[file].append(line)

    def has(self, key: str, name: Any) -> bool:
        return name in self._positions.get(key, {})

    def get(self, key: str, name: Any) -> T:
        path, offset = self._positions[key][name]
        value = self._value(match_line(self._pattern, line_at(path, offset)))
        if value is None:
            raise StoreError(f"{path} was damaged while it was read; repeat the command")
        return value

    def of(self, key: str) -> tuple[T, ...]:
        """Return the values of one record, sorted by name."""
        return tuple(self.get(key, name) for name in sorted(self._positions.get(key, ())))

    def close(self) -> None:
        for appender in self._appenders.values():
            appender.close()
        self._appenders = {}

    def _value(self, match: re.Match[bytes] | None) -> T | None:
        try:
            return cast(T, self._model.model_validate_json(match[2])) if match else None
        except ValidationError:
            return None


class Forks(_Additions[Fork]):
    """The values that `branch` adds: one file for each method, one line for each state."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "branches", "fork", Fork, lambda _, fork: (fork.method, fork.source, fork.prefix))

    def join(self, record: Record) -> Record:
        forks = self.of(record.key)
        return record.model_copy(update={"forks": forks}) if forks else record


class Remeasurements(_Additions[PolicyMeasurement]):
    """The values that `remeasure` adds: one file for each policy with its settings.

    A value's name is the order in which its file was begun, so that the latest comes last, and the file's stem.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "remeasured", "remeasurement", PolicyMeasurement, lambda file, it: (it.order, file))

    def order(self, file: str) -> int:
        """Return when a file was begun, as a number from 1; a new file gets the next number."""
        orders: dict[str, int] = {stem: order for names in self._positions.values() for order, stem in names}
        return orders.get(file, max(orders.values(), default=0) + 1)

    def policies(self) -> set[str]:
        stems = {stem for names in self._positions.values() for _, stem in names}
        return {stem.rpartition("-")[0] for stem in stems}  # a stem is the policy's name and a digest

    def join(self, record: Record) -> Record:
        measurements = self.of(record.key)
        if record.twin and record.twin.used and (of_twin := self.of(twin_key(record.key))):
            combined = (*record.twin.measurements, *_select_new(record.twin.measurements, of_twin))
            record = record.model_copy(update={"twin": record.twin.model_copy(update={"measurements": combined})})
        return _add_measurements(record, measurements) if measurements else record


class Completions(_Additions[CompletedStages]):
    """The values that `complete` adds: one line for each attempt at a record; the last attempt counts."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "completed", "completion", CompletedStages, lambda _, stages: stages.attempt)

    def attempts(self, key: str) -> int:
        return max(self._positions.get(key, ()), default=0)

    def missing(self, key: str, before: tuple[str, ...]) -> tuple[str, ...]:
        """Return the optional stages that a record still lacks; `before` are those that its journal line lacks."""
        attempts = self.attempts(key) if before else 0
        return self.get(key, attempts).missing if attempts else before

    def join(self, record: Record) -> Record:
        attempts = self.attempts(record.key)
        if not attempts:
            return record
        completed = self.get(record.key, attempts)
        stages = completed.model_fields_set & {*Record.model_fields}
        return record.model_copy(update={name: getattr(completed, name) for name in stages - {"key"}})


def build_join(folder: Path, *, forks: bool = False) -> Callable[[Record], Record]:
    """Return a function that adds to a journalled record all that was completed and measured later."""
    additions: list[Completions | Remeasurements | Forks] = [Completions(folder), Remeasurements(folder)]
    if forks:
        additions.append(Forks(folder))

    def join(record: Record) -> Record:
        for addition in additions:
            record = addition.join(record)
        return record

    return join


def _add_measurements(record: Record, measurements: Iterable[PolicyMeasurement]) -> Record:
    """Add measurements to a record. If the run's solver failed and another policy succeeds, that policy confirms it.

    The rollouts of the first such policy that meets the target become the confirmation, its name joins the models, and
    the record is trainable only if that policy's outputs are. The status stays: an export takes such a pair if
    `beyond_solver` is included.
    """
    combined = (*record.measurements, *_select_new(record.measurements, measurements))
    record = record.model_copy(update={"measurements": combined})
    if (opener := record.opener) is None:
        return record
    before = record.lineage
    names = dict.fromkeys([*before.model.split(" + "), opener.assessment.model])
    lineage = {"model": " + ".join(names), "trainable": before.trainable and opener.trainable}
    confirmation = {"confirmation": opener.rollouts, "confirmation_verdicts": opener.verdicts}
    return record.model_copy(update={**confirmation, "lineage": before.model_copy(update=lineage)})


def _select_new(
    before: Iterable[PolicyMeasurement], measurements: Iterable[PolicyMeasurement]
) -> list[PolicyMeasurement]:
    orders = {measurement.order for measurement in before}
    return [measurement for measurement in measurements if measurement.order not in orders]
