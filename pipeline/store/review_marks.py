"""`marks.jsonl` in a run's folder: what people say about its pairs, one line for each mark."""

import fcntl
import getpass
import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from pipeline.errors import UsageError
from pipeline.store.files import Appender, clear_errors
from pipeline.store.lock_files import wait_for_lock
from pipeline.store.real_paths import open_file
from pipeline.text.redact import clean
from pipeline.types import Data

NAME = "marks.jsonl"
ASKED = ("right", "unique", "natural")
"""The questions about a pair, which are fields of `Mark`."""


_MOST_NAME = 60
_LONGEST_WAIT = 20.0
"""Seconds to wait for another writer. It needs only a moment, but anyone who can read the file can lock it."""


def login_name() -> str:
    try:
        return clean_reviewer_name(getpass.getuser())
    except (OSError, KeyError, UsageError):
        return "reviewer"


def clean_reviewer_name(name: str) -> str:
    """Return the name as it is stored. Raises UsageError if nothing is left of it."""
    cleaned = " ".join(clean(name).split())[:_MOST_NAME].strip()
    if not cleaned:
        raise UsageError("a reviewer needs a name")
    return cleaned


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Mark(Data):
    """What one person says of one pair; the latest of that person counts."""

    key: str
    reviewer: str
    right: bool | None = None
    """Is the answer right by the evidence? None: not said, as below."""
    unique: bool | None = None
    """Is it the only right one?"""
    natural: bool | None = None
    """Would a person ask the question so?"""
    note: str = ""
    sampled: bool = True
    """Whether the pair came in the random order. Disputed pairs are not a sample: they are worse than others."""
    at: str
    """When, in ISO 8601."""

    @property
    def answered(self) -> bool:
        return any(getattr(self, name) is not None for name in ASKED)

    @property
    def good(self) -> bool | None:
        """Whether the pair is right and unique; None if neither was denied and one was not answered."""
        if self.right is False or self.unique is False:
            return False
        return True if self.right and self.unique else None


def add(folder: Path, marks: Iterable[Mark]) -> None:
    """Append the marks that change something, durably and each completely. Several people may mark at once."""
    path = folder / NAME
    with _exclude_writers(path):
        before = read(folder)
        with closing(Appender(path)) as lines:
            for mark in marks:
                latest = before.get((mark.key, mark.reviewer), Mark(key=mark.key, reviewer=mark.reviewer, at=""))
                if mark.model_copy(update={"at": latest.at}) != latest:
                    lines.append(mark.model_dump_json().encode())


def read(folder: Path) -> dict[tuple[str, str], Mark]:
    """Return the latest marks by pair key and person. Damaged lines are ignored."""
    path, marks = folder / NAME, dict[tuple[str, str], Mark]()
    if path.is_file():
        with path.open("rb") as file:
            for line in file:
                with suppress(ValidationError):
                    mark = Mark.model_validate_json(line)
                    marks[mark.key, mark.reviewer] = mark
    return marks


@contextmanager
def _exclude_writers(path: Path) -> Iterator[None]:
    """Wait for other writers, since opening the file would cut off a line that is being written."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with clear_errors(path), os.fdopen(open_file(path, flags), "ab") as file:
        wait_for_lock(file.fileno(), fcntl.LOCK_EX, path, seconds=_LONGEST_WAIT)
        yield
