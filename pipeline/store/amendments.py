"""What is found out about the records of a run after it has journalled them: files beside the journal, joined to the
records on reading.

A line is `{"sha256": ..., "<kind>": {...}}`. A torn or damaged line is no line, and can be written again.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from pydantic import ValidationError

from pipeline.errors import StoreError
from pipeline.store.checked_lines import checked, files_of_lines, hash_of, line_at, scanned
from pipeline.store.files import Appender
from pipeline.types import CompletedStages, Fork, PolicyMeasurement, Record, twin_key

T = TypeVar("T", bound=Fork | PolicyMeasurement | CompletedStages)


class _Additions(Generic[T]):
    """Values of one type, each under its record's key and a name of its own among those of the record.

    Of two lines with one name the first counts. Reading changes nothing. `damaged` counts the lines that cannot be
    read; some of them may have been written again since.
    """

    def __init__(self, folder: Path, kind: str, model: type[T], name: Callable[[str, T], Any]) -> None:
        """`name` takes the stem of the value's file and the value; names are sorted."""
        self.damaged = 0
        self._folder, self._kind, self._model, self._name = folder, kind.encode(), model, name
        self._pattern = re.compile(rb'\{"sha256":"([0-9a-f]{64})","%b":(.*)\}\n' % self._kind, re.DOTALL)
        self._appenders: dict[str, Appender] = {}
        self._places: dict[str, dict[Any, tuple[Path, int]]] = defaultdict(dict)
        for path in files_of_lines(folder):
            for offset, _, match in scanned(path, self._pattern):
                if value := self._value(match):
                    self._places[value.key].setdefault(name(path.stem, value), (path, offset))
                else:
                    self.damaged += 1

    def append(self, file: str, value: T) -> None:
        """Write one value durably. Nothing is written if its name is there already."""
        name = self._name(file, value)
        if self.has(value.key, name):
            return
        path = self._folder / f"{file}.jsonl"
        if file not in self._appenders:
            self._appenders[file] = Appender(path)
        body = value.model_dump_json().encode()
        line = b'{"sha256":"%b","%b":%b}' % (hash_of(body), self._kind, body)
        self._places[value.key][name] = path, self._appenders[file].append(line)

    def has(self, key: str, name: Any) -> bool:
        return name in self._places.get(key, {})

    def get(self, key: str, name: Any) -> T:
        """One value. Raises KeyError where there is none."""
        path, offset = self._places[key][name]
        value = self._value(checked(self._pattern, line_at(path, offset)))
        if value is None:
            raise StoreError(f"{path} was damaged while it was read; repeat the command")
        return value

    def of(self, key: str) -> tuple[T, ...]:
        """The values of one record, in the order of their names."""
        return tuple(self.get(key, name) for name in sorted(self._places.get(key, ())))

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
    """What `branch` keeps: a file for each method, a line for each state."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "branches", "fork", Fork, lambda _, fork: (fork.method, fork.source, fork.prefix))

    def joined(self, record: Record) -> Record:
        forks = self.of(record.key)
        return record.model_copy(update={"forks": forks}) if forks else record


class Remeasurements(_Additions[PolicyMeasurement]):
    """What `remeasure` keeps: a file for each policy with its settings. A value's name is its place among those that
    were begun, so that the latest comes last, and its file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "remeasured", "remeasurement", PolicyMeasurement, lambda file, it: (it.order, file))

    def order(self, file: str) -> int:
        """The place of a file among those that were begun; that of one that is not there is the next."""
        orders: dict[str, int] = {stem: order for names in self._places.values() for order, stem in names}
        return orders.get(file, max(orders.values(), default=0) + 1)

    def policies(self) -> set[str]:
        """The names of those that anything was measured for: of a file, what stands before its digest."""
        return {stem.rpartition("-")[0] for names in self._places.values() for _, stem in names}

    def joined(self, record: Record) -> Record:
        """With what was measured of it, and of its twin."""
        found = self.of(record.key)
        if record.twin and record.twin.used and (more := self.of(twin_key(record.key))):
            measured = (*record.twin.measurements, *_new(record.twin.measurements, more))
            record = record.model_copy(update={"twin": record.twin.model_copy(update={"measurements": measured})})
        return _measured_again(record, found) if found else record


class Completions(_Additions[CompletedStages]):
    """What `complete` keeps: a line for each attempt at a record, of which the last one counts."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "completed", "completion", CompletedStages, lambda _, found: found.attempt)

    def attempts(self, key: str) -> int:
        """The number of the last attempt; 0 where there is none."""
        return max(self._places.get(key, ()), default=0)

    def missing(self, key: str, before: tuple[str, ...]) -> tuple[str, ...]:
        """The optional stages that a record lacks now; `before` is what its journal line says."""
        attempts = self.attempts(key) if before else 0
        return self.get(key, attempts).missing if attempts else before

    def joined(self, record: Record) -> Record:
        attempts = self.attempts(record.key)
        if not attempts:
            return record
        found = self.get(record.key, attempts)
        stages = found.model_fields_set & {*Record.model_fields}
        return record.model_copy(update={name: getattr(found, name) for name in stages - {"key"}})


def joined(folder: Path, *, forks: bool = False) -> Callable[[Record], Record]:
    """Adds to a record of the journal what was made up and measured later, and its forks if they are wanted."""
    kept: list[Completions | Remeasurements | Forks] = [Completions(folder), Remeasurements(folder)]
    if forks:
        kept.append(Forks(folder))

    def join(record: Record) -> Record:
        for one in kept:
            record = one.joined(record)
        return record

    return join


def _measured_again(record: Record, others: Iterable[PolicyMeasurement]) -> Record:
    """The record with these measurements too; what was beyond the run's solver and another solves is measured by that.

    The rollouts of the first such solver that meets the target become the confirmation, its name joins the models, and
    what it forbids is forbidden. The status stays: an export takes such a pair where `beyond_solver` is included.
    """
    measured = (*record.measurements, *_new(record.measurements, others))
    record = record.model_copy(update={"measurements": measured})
    if (other := record.opener) is None:
        return record
    before = record.lineage
    names = dict.fromkeys([*before.model.split(" + "), other.assessment.model])
    may = {"model": " + ".join(names), "trainable": before.trainable and other.trainable}
    changed = {"confirmation": other.rollouts, "confirmation_verdicts": other.verdicts}
    return record.model_copy(update={**changed, "lineage": before.model_copy(update=may)})


def _new(known: Iterable[PolicyMeasurement], found: Iterable[PolicyMeasurement]) -> list[PolicyMeasurement]:
    orders = {one.order for one in known}
    return [one for one in found if one.order not in orders]
