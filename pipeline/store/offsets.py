"""Where the records of a journal stand, for who looks at one that others may be writing: it takes no lock, changes
nothing, checks a line only when it is read, and goes on where it stopped when the files have grown.
"""

import re
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from pipeline.errors import StoreError
from pipeline.store.journal import record_at
from pipeline.store.line_files import files_of_lines
from pipeline.types import Record

_BEGIN = re.compile(rb'\{"sha256":"[0-9a-f]{64}","head":\{"key":"([0-9a-f]{64})"')
_TRIED = 8
_AT_ONCE = 64 << 20
"""Bytes of a file that are passed over before others get a turn."""


class Place(NamedTuple):
    """Where a line begins."""

    path: Path
    offset: int


class Offsets:
    """The places of the records in `*.jsonl` of a folder, by key."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, Lock()
        self._places: dict[bytes, tuple[Place, ...]] = {}
        self._read_to: dict[Path, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def lines(self) -> list[tuple[str, str]]:
        """Key and file of every record that was found so far."""
        with self._lock:
            return [(key.decode(), min(places).path.name) for key, places in self._places.items()]

    def read(self, key: str) -> Record:
        """One record. Raises KeyError for an unknown key, StoreError where no line of it can be read."""
        wanted = key.encode()
        while wanted not in self._places and self.advance():
            pass
        error: StoreError | None = None
        for path, offset in sorted(self._places[wanted]):
            try:
                return record_at(path, offset)
            except StoreError as damaged:
                error = error or damaged
        raise error or KeyError(key)

    def readable(self) -> bool:
        """Can any of the first records be read?"""
        for key, _ in self.lines()[:_TRIED]:
            with suppress(StoreError):
                self.read(key)
                return True
        return False

    def advance(self) -> bool:
        """Pass over some more of the files. False once all that stands in them is known."""
        with self._lock:
            for path in files_of_lines(self._folder):
                if self._read_to.get(path, 0) < path.stat().st_size and self._pass_over(path):
                    return True
        return False

    def _pass_over(self, path: Path) -> bool:
        """Was there a whole line? The last one may be in the middle of being written."""
        begin = offset = self._read_to.get(path, 0)
        with path.open("rb") as file:
            file.seek(offset)
            while offset - begin < _AT_ONCE and (line := file.readline()).endswith(b"\n"):
                if match := _BEGIN.match(line):
                    known = self._places.get(match[1], ())
                    self._places[match[1]] = (*known, Place(path, offset))
                offset += len(line)
        self._read_to[path] = offset
        return offset > begin
