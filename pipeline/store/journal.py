"""The journal of a run: one line per finished seed, the only state that matters.

A line is `{"sha256": ..., "head": {...}, "record": {...}}`; the hash covers all that follows it, so that damage is
found, and the head is what plan and counts need, so that opening a journal of any length holds no record in memory.
Several writers have a file each. The union is by key, and the first line by (file, offset) wins, but for a seed that a
clock had ended and that was run again. A line that is torn or damaged, or that belongs to another run, is no line: its
seed is owed again.
"""

import re
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import orjson
from pydantic import Field, TypeAdapter, ValidationError

from pipeline.errors import StoreError
from pipeline.store.checked_lines import checked, files_of_lines, hash_of, line_at, scanned
from pipeline.store.files import Appender
from pipeline.types import Record, Slotted, Status, sha256
from pipeline.types.data import slotted

_KEY = re.compile(rb'"key":"([0-9a-f]{64})"')
_LINE = re.compile(rb'\{"sha256":"([0-9a-f]{64})",("head":(\{[^{}]*\}),"record":(.*)\})\n?', re.DOTALL)
_AT_ONCE = 64 << 20
"""Bytes of a file that are read before others get a turn."""

_RECORD = re.compile(
    rb'\{"key":"([0-9a-f]{64})","seed":(\{.*?\}),"status":("[a-z]+"),"reason":("(?:[^"\\]|\\.)*")', re.DOTALL
)
"""How a record begins: no text within it can hold these quotation marks."""


class RunIdentity(NamedTuple):
    """What the keys of a run's seeds are made of."""

    digest: str
    corpus_fingerprint: str

    def key(self, passage_id: str, draw: int) -> str:
        return sha256(f"{self.digest}\n{self.corpus_fingerprint}\n{passage_id}\n{draw}")


@slotted
class Head(Slotted):
    """What is known of a record without reading it."""

    key: str
    order: str
    """Sorts the seeds of a run into the order of its plan."""
    status: Status
    reason: str = Field(pattern=r"^[^{}]*$")
    target_steps: int
    missing: tuple[str, ...] = ()
    """As of the record."""
    clock: float | None = None
    """The limit in seconds, where that of an agent ended the seed."""

    def unfinished(self, seconds: float | None) -> bool:
        """Did a shorter clock than this one, where None is none, end the seed?"""
        return self.clock is not None and (seconds is None or seconds > self.clock)


_HEADS = TypeAdapter(Head)


class Entry(NamedTuple):
    """A good line and where it stands."""

    head: Head
    path: Path
    offset: int


class Journal:
    """The union of all writers' files in `folder`; reading it changes nothing.

    `duplicates`, `damaged` and `torn` count the lines that are not used; those of another run than `run` are damaged.
    """

    def __init__(
        self, folder: Path, writer: str = "main", *, run: RunIdentity | None = None, whole: bool = True
    ) -> None:
        """Unless it is `whole` from the start, `advance` reads it."""
        self._folder, self._run, self._lock = folder, run, Lock()
        self.entries: dict[str, Entry] = {}
        self.duplicates = self.damaged = 0
        self._read_to: dict[Path, int] = {}
        self._unread: list[str] = []
        self._torn: dict[Path, str] = {}
        self._path = folder / f"{writer}.jsonl"
        self._appender: Appender | None = None
        while whole and self.advance():
            pass

    def advance(self) -> bool:
        """Read some more of the files, to which others may be adding. False once all that stands in them is known."""
        with self._lock:
            for path in files_of_lines(self._folder):
                if self._read_to.get(path, 0) < path.stat().st_size and self._index(path):
                    return True
        return False

    def append(self, record: Record, order: str, seconds: float | None = None) -> bool:
        """Write one finished seed, to stay. False, and nothing written, if its key is there already. `seconds` are what
        its agents had, if they had a limit."""
        head = headed(record, order, seconds)
        if self.stands(head):
            return False
        if self._appender is None:
            self._appender = Appender(self._path)
        offset = self._appender.append(encode(head, record))
        self.entries[record.key] = Entry(head, self._path, offset)
        return True

    @property
    def torn(self) -> int:
        return len(self._torn)

    @property
    def lost(self) -> int:
        """Lines that are torn or damaged, without those whose seed has another line: it has been run again."""
        return sum(key not in self.entries for key in (*self._unread, *self._torn.values()))

    def heads(self) -> list[Head]:
        """All heads in the order of the plan."""
        heads = [entry.head for entry in list(self.entries.values())]
        return sorted(heads, key=lambda head: (head.order, head.key))

    def read(self, key: str) -> Record:
        """One record. Raises KeyError for an unknown key."""
        entry = self.entries[key]
        return record_at(entry.path, entry.offset)

    def stands(self, head: Head) -> bool:
        """Is there a line that this one does not replace?"""
        entry = self.entries.get(head.key)
        return entry is not None and not entry.head.unfinished(head.clock)

    def close(self) -> None:
        if self._appender is not None:
            self._appender.close()
            self._appender = None

    def _index(self, path: Path) -> bool:
        """Was there a whole line? The last one may be in the middle of being written."""
        begin = end = self._read_to.get(path, 0)
        self._torn.pop(path, None)
        for offset, line, match in scanned(path, _LINE, begin):
            if not line.endswith(b"\n"):
                self._torn[path] = _key(line)
                break
            end = offset + len(line)
            if (head := _head(line, match, self._run)) is None:
                self.damaged += 1
                self._unread.append(_key(line))
            elif self.stands(head):
                self.duplicates += 1
            else:
                self.entries[head.key] = Entry(head, path, offset)
            if end - begin > _AT_ONCE:
                break
        self._read_to[path] = end
        return end > begin


def headed(record: Record, order: str, seconds: float | None = None) -> Head:
    """The head of a record's line; `order` is the place of its seed in the plan, `seconds` the clock of its agents."""
    return Head(
        key=record.key,
        order=order,
        status=record.status,
        reason=record.reason,
        target_steps=record.seed.target_steps,
        missing=record.missing,
        clock=seconds if record.reason == "deadline" else None,
    )


def encode(head: Head, record: Record) -> bytes:
    """The line of a record, without its line end."""
    body = b'"head":%b,"record":%b}' % (_HEADS.dump_json(head), record.model_dump_json().encode())
    return b'{"sha256":"%b",%b' % (hash_of(body), body)


def _key(line: bytes) -> str:
    """The key that a line had that cannot be trusted, if it can be seen; it comes first in a line."""
    found = _KEY.search(line)
    return found[1].decode() if found else ""


def _head(line: bytes, match: re.Match[bytes] | None, run: RunIdentity | None) -> Head | None:
    begin = _RECORD.match(line, match.start(4)) if match else None
    if match is None or begin is None:
        return None
    try:
        head = _HEADS.validate_json(match[3])
        seed, status, reason = map(orjson.loads, begin.group(2, 3, 4))
        said = begin[1].decode(), seed["key"], status, reason, seed["target_steps"]
        ours = run is None or head.key == run.key(seed["passage"]["id"], seed["draw"])
    except (ValueError, LookupError, TypeError):
        return None
    return head if ours and said == (head.key, head.key, head.status, head.reason, head.target_steps) else None


def record_at(path: Path, offset: int) -> Record:
    """The record whose line begins there. Raises StoreError where it is damaged, or of another version."""
    return decode(line_at(path, offset), f"{path}, byte {offset}")


def decode(line: bytes, source: str) -> Record:
    """The record of a line. Raises StoreError, naming its source, where it is damaged, or of another version."""
    match = checked(_LINE, line)
    if match is None:
        raise StoreError(f"{source} was damaged while it was read; repeat the command")
    try:
        record, head = Record.model_validate_json(match[4]), _HEADS.validate_json(match[3])
    except ValidationError as error:
        raise StoreError(f"{source} was written by another version of digsite; name another --out") from error
    if headed(record, head.order, head.clock) != head or not _consistent(record):
        raise StoreError(f"{source}: the line contradicts itself; remove it, and its seed is run again")
    return record


def _consistent(record: Record) -> bool:
    """Has each call the tool message that answers it, and each rollout its verdict?"""
    graded = [(record.confirmation, record.confirmation_verdicts), (record.seekers, record.seeker_verdicts)]
    for past in record.rounds:
        graded += (past.rollouts, past.verdicts), (past.policy_rollouts, past.policy_verdicts)
    if tried := record.distractor_eval:
        graded.append((tried.without_distractors, tried.without_distractors_verdicts))
        graded.append((tried.with_distractors, tried.with_distractors_verdicts))
    graded += [(one.rollouts, one.verdicts) for one in record.measurements]
    graded += [(one.rollouts, one.verdicts) for one in (record.twin.tries if record.twin else ())]
    traces = [rollout.trajectory for rollouts, _ in graded for rollout in rollouts]
    traces += [past.agent for past in record.rounds] + [made.rollout.trajectory for made in record.teacher_rollouts]
    return all(len(rollouts) == len(verdicts) for rollouts, verdicts in graded) and all(
        {call.id for call in trace.calls} <= {message.tool_call_id for message in trace.messages} for trace in traces
    )
