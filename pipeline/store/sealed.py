"""Lines that stand beside a journal: `{"sha256": ..., "<kind>": {...}}`. A torn or damaged one is no line."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from pipeline.errors import StoreError
from pipeline.store.files import Appender
from pipeline.types import CompletedStages, Data, Fork, Remeasurement

_LINE = re.compile(rb'\{"sha256":"([0-9a-f]{64})","([a-z]+)":(.*)\}\n', re.DOTALL)
T = TypeVar("T", bound=Fork | Remeasurement | CompletedStages)
D = TypeVar("D", bound=Data)


class _Place(NamedTuple):
    path: Path
    offset: int


class Sealed(Generic[T]):
    """What was found out about records later, each value under its record's key and a name of its own among those.

    `name` tells it from the stem of a value's file and the value. Of two lines of one name the first counts. Reading
    changes nothing. `damaged` counts the lines that are none, which may have been written again since.
    """

    def __init__(self, folder: Path, kind: str, model: type[T], name: Callable[[str, T], str]) -> None:
        self.damaged = 0
        self._folder, self._kind, self._model, self._name = folder, kind, model, name
        self._appenders: dict[str, Appender] = {}
        self._places: dict[str, dict[str, _Place]] = defaultdict(dict)
        for path in sorted(folder.glob("*.jsonl")):
            self._index(path)

    def close(self) -> None:
        for appender in self._appenders.values():
            appender.close()
        self._appenders = {}

    def _append(self, file: str, value: T) -> None:
        """Write one value, to stay. Nothing is written if it is there already."""
        name = self._name(file, value)
        if name in self._places[value.key]:
            return
        path = self._folder / f"{file}.jsonl"
        if file not in self._appenders:
            self._appenders[file] = Appender(path)
        self._places[value.key][name] = _Place(path, self._appenders[file].append(seal(self._kind, value)))

    def _read(self, place: _Place) -> T:
        with place.path.open("rb") as file:
            file.seek(place.offset)
            value = unseal(self._kind, file.readline(), self._model)
        if value is None:
            raise StoreError(f"{place.path} was damaged while it was read; repeat the command")
        return value

    def _index(self, path: Path) -> None:
        offset = 0
        with path.open("rb") as file:
            for line in file:
                value = unseal(self._kind, line, self._model)
                self.damaged += value is None
                if value:
                    self._places[value.key].setdefault(self._name(path.stem, value), _Place(path, offset))
                offset += len(line)


def seal(kind: str, value: Data) -> bytes:
    """The line of a value, without its line end."""
    body = value.model_dump_json().encode()
    return b'{"sha256":"%b","%b":%b}' % (hashlib.sha256(body).hexdigest().encode(), kind.encode(), body)


def unseal(kind: str, line: bytes, model: type[D]) -> D | None:
    """The value of a line with its line end; None for what is no such line."""
    match = _LINE.fullmatch(line)
    if match is None or match[2] != kind.encode() or hashlib.sha256(match[3]).hexdigest().encode() != match[1]:
        return None
    try:
        return model.model_validate_json(match[3])
    except ValidationError:
        return None
