"""`marks.jsonl` in a run's folder: what people say of its pairs, a line for each mark, whichever way it was made."""

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
"""What is asked of a pair."""


_MOST_NAME = 60
_LONGEST_WAIT = 20.0
"""Seconds: a writer is done in a moment, and anybody who can read the file can lock it."""


def myself() -> str:
    """The login name, where the system knows one."""
    try:
        return reviewer(getpass.getuser())
    except (OSError, KeyError, UsageError):
        return "reviewer"


def reviewer(name: str) -> str:
    """The name as it is kept. Raises UsageError where it is none."""
    found = " ".join(clean(name).split())[:_MOST_NAME].strip()
    if not found:
        raise UsageError("a reviewer needs a name")
    return found


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
    at: str
    """When, in ISO 8601."""

    @property
    def answered(self) -> bool:
        """Did the person answer anything that is asked?"""
        return any(getattr(self, name) is not None for name in ASKED)

    @property
    def good(self) -> bool | None:
        """Right and unique; None where one of them was not said, and neither denied."""
        if self.right is False or self.unique is False:
            return False
        return True if self.right and self.unique else None


def add(folder: Path, marks: Iterable[Mark]) -> None:
    """Write them durably, each in whole or not at all; several people may mark at once. What a person has said already
    is not written again."""
    path = folder / NAME
    with _alone(path):
        before = read(folder)
        with closing(Appender(path)) as lines:
            for mark in marks:
                known = before.get((mark.key, mark.reviewer), Mark(key=mark.key, reviewer=mark.reviewer, at=""))
                if mark.model_copy(update={"at": known.at}) != known:
                    lines.append(mark.model_dump_json().encode())


def read(folder: Path) -> dict[tuple[str, str], Mark]:
    """The latest marks, by the key of the pair and the person. A damaged line is no mark."""
    path, found = folder / NAME, dict[tuple[str, str], Mark]()
    if path.is_file():
        with path.open("rb") as file:
            for line in file:
                with suppress(ValidationError):
                    mark = Mark.model_validate_json(line)
                    found[mark.key, mark.reviewer] = mark
    return found


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait for other writers: opening the file would cut off a line that one of them is in the middle of."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with clear_errors(path), os.fdopen(open_file(path, flags), "ab") as file:
        wait_for_lock(file.fileno(), fcntl.LOCK_EX, path, seconds=_LONGEST_WAIT)
        yield
