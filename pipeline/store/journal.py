"""The journal of a run: one line per finished seed, the only state that matters.

A line is `{"sha256": ..., "head": {...}, "record": {...}}`. The hash covers all that follows it, so that damage is
detected. The head holds what plan and counts need, so that opening a journal of any length loads no record into memory.
Each writer has its own file. If several lines have one key, the first by (file, offset) wins, unless its seed ran into
a deadline and was run again. A line that is torn, damaged or of another run is ignored, and its seed is run again.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import orjson
from pydantic import Field, TypeAdapter, ValidationError

from pipeline.errors import StoreError
from pipeline.store.checked_lines import files_of_lines, hash_of, line_at, match_line, scan_lines
from pipeline.store.files import Appender, atomic_file
from pipeline.types import Reason, ReasonCode, Record, Seed, Slotted, Status, sha256
from pipeline.types.data import slotted

_KEY = re.compile(rb'"key":"([0-9a-f]{64})"')
_LINE = re.compile(rb'\{"sha256":"([0-9a-f]{64})",("head":(\{[^{}]*\}),"record":(.*)\})\n?', re.DOTALL)
_AT_ONCE = 64 << 20
"""Bytes that `advance` reads at a time, so that other threads get a turn."""

_RECORD = re.compile(
    rb'\{"key":"([0-9a-f]{64})","seed":(\{.*?\}),"status":("[a-z]+"),"reason":("(?:[^"\\]|\\.)*")', re.DOTALL
)
"""How a record begins. Quotation marks within its texts are escaped, so that no text can match."""


class RunIdentity(NamedTuple):
    """What the keys of a run's seeds are derived from."""

    digest: str
    corpus_fingerprint: str
    ancestors: tuple[str, ...] = ()
    """The fingerprints of the versions that records were carried over from, with their keys."""

    def key(self, passage_id: str, draw: int) -> str:
        return self._key(self.corpus_fingerprint, passage_id, draw)

    def keys(self, passage_id: str, draw: int) -> set[str]:
        """Return the keys that a line of this seed may have."""
        fingerprints = (self.corpus_fingerprint, *self.ancestors)
        return {self._key(fingerprint, passage_id, draw) for fingerprint in fingerprints}

    def _key(self, fingerprint: str, passage_id: str, draw: int) -> str:
        return sha256(f"{self.digest}\n{fingerprint}\n{passage_id}\n{draw}")


@slotted
class Head(Slotted):
    """The part of a line that is kept in memory."""

    key: str
    order: str
    """Sorts the seeds of a run into the order of its plan."""
    status: Status
    reason: str = Field(pattern=r"^[^{}]*$")
    target_steps: int
    missing: tuple[str, ...] = ()
    """The optional stages that the record lacks."""
    clock: float | None = None
    """The time limit in seconds, if an agent's time limit ended the seed."""

    @property
    def parsed_reason(self) -> Reason:
        return Reason.parse(self.reason)

    def unfinished(self, seconds: float | None) -> bool:
        """Return whether a time limit shorter than `seconds` ended the seed; None is no limit."""
        return self.clock is not None and (seconds is None or seconds > self.clock)


_HEADS, _SEEDS = TypeAdapter(Head), TypeAdapter(Seed)


class Entry(NamedTuple):
    """The position of a good line, and its head."""

    head: Head
    path: Path
    offset: int


class Journal:
    """All writers' files in `folder` together. Reading changes nothing.

    `duplicates`, `damaged` and `torn` count the lines that are not used; lines of another run than `run` are damaged.
    """

    def __init__(
        self, folder: Path, writer: str = "main", *, run: RunIdentity | None = None, read_all: bool = True
    ) -> None:
        """Read all files at once, or, if `read_all` is false, leave that to calls of `advance`."""
        self._folder, self._run, self._lock = folder, run, Lock()
        self.entries: dict[str, Entry] = {}
        self.duplicates = self.damaged = 0
        self._read_to: dict[Path, int] = {}
        self._unread: list[str] = []
        self._torn: dict[Path, str] = {}
        self._path = folder / f"{writer}.jsonl"
        self._appender: Appender | None = None
        while read_all and self.advance():
            pass

    def advance(self) -> bool:
        """Read some more of the files, to which others may be adding. Return False once everything is read."""
        with self._lock:
            for path in files_of_lines(self._folder):
                if self._read_to.get(path, 0) < path.stat().st_size and self._index(path):
                    return True
        return False

    def append(self, record: Record, order: str, seconds: float | None = None) -> bool:
        """Write one finished seed durably, and return True; write nothing and return False if its key has a final line.

        Args:
            order: the position of the seed in the plan.
            seconds: the time limit of its agents, if they had one.
        """
        head = build_head(record, order, seconds)
        if self.has_final_line(head):
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
        """The number of torn or damaged lines whose seed has not been run again."""
        return sum(key not in self.entries for key in (*self._unread, *self._torn.values()))

    def heads(self) -> list[Head]:
        heads = [entry.head for entry in list(self.entries.values())]
        return sorted(heads, key=lambda head: (head.order, head.key))

    def read(self, key: str) -> Record:
        entry = self.entries[key]
        return record_at(entry.path, entry.offset)

    def read_seed(self, key: str) -> Seed:
        """Return the seed of a record, without parsing the rest of it."""
        entry = self.entries[key]
        if (match := match_line(_LINE, line_at(entry.path, entry.offset))) is None:
            raise StoreError(f"{entry.path} was damaged while it was read; repeat the command")
        begin = _RECORD.match(match[4])
        assert begin  # noqa: S101 - the line was checked when it was indexed
        return _SEEDS.validate_json(begin[2])

    def has_final_line(self, head: Head) -> bool:
        """Return whether the journal has a line for this key that the line of `head` would not replace."""
        entry = self.entries.get(head.key)
        return entry is not None and not entry.head.unfinished(head.clock)

    def close(self) -> None:
        if self._appender is not None:
            self._appender.close()
            self._appender = None

    def _index(self, path: Path) -> bool:
        """Index some lines of a file, and return whether there was a complete one. The last may still be written."""
        begin = end = self._read_to.get(path, 0)
        self._torn.pop(path, None)
        for offset, line, match in scan_lines(path, _LINE, begin):
            if not line.endswith(b"\n"):
                self._torn[path] = _guess_key(line)
                break
            end = offset + len(line)
            if (head := _read_head(line, match, self._run)) is None:
                self.damaged += 1
                self._unread.append(_guess_key(line))
            elif self.has_final_line(head):
                self.duplicates += 1
            else:
                self.entries[head.key] = Entry(head, path, offset)
            if end - begin > _AT_ONCE:
                break
        self._read_to[path] = end
        return end > begin


def build_head(record: Record, order: str, seconds: float | None = None) -> Head:
    """Build the head of a record's line.

    Args:
        order: the position of the seed in the plan.
        seconds: the time limit of its agents, if they had one.
    """
    return Head(
        key=record.key,
        order=order,
        status=record.status,
        reason=record.reason,
        target_steps=record.seed.target_steps,
        missing=record.missing,
        clock=seconds if record.reason == ReasonCode.DEADLINE else None,
    )


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write a whole file of lines at once, as `encode` returns them."""
    with atomic_file(path) as file:
        for line in lines:
            file.write(line + b"\n")


def encode(head: Head, record: Record) -> bytes:
    body = b'"head":%b,"record":%b}' % (_HEADS.dump_json(head), record.model_dump_json().encode())
    return b'{"sha256":"%b",%b' % (hash_of(body), body)


def _guess_key(line: bytes) -> str:
    """Return the key of a damaged line, if it is legible."""
    match = _KEY.search(line)
    return match[1].decode() if match else ""


def _read_head(line: bytes, match: re.Match[bytes] | None, run: RunIdentity | None) -> Head | None:
    begin = _RECORD.match(line, match.start(4)) if match else None
    if match is None or begin is None:
        return None
    try:
        head = _HEADS.validate_json(match[3])
        seed, status, reason = map(orjson.loads, begin.group(2, 3, 4))
        fields = begin[1].decode(), seed["key"], status, reason, seed["target_steps"]
        is_of_run = run is None or head.key in run.keys(seed["passage"]["id"], seed["draw"])
    except (ValueError, LookupError, TypeError):
        return None
    is_consistent = fields == (head.key, head.key, head.status, head.reason, head.target_steps)
    return head if is_of_run and is_consistent else None


def record_at(path: Path, offset: int) -> Record:
    return decode(line_at(path, offset), f"{path}, byte {offset}")


def decode(line: bytes, source: str) -> Record:
    """Return the record of a line. Raises StoreError, naming `source`, if it is damaged or of another version."""
    match = match_line(_LINE, line)
    if match is None:
        raise StoreError(f"{source} was damaged while it was read; repeat the command")
    try:
        record, head = Record.model_validate_json(match[4]), _HEADS.validate_json(match[3])
    except ValidationError as error:
        raise StoreError(f"{source} was written by another version of digsite; name another --out") from error
    if build_head(record, head.order, head.clock) != head or not _is_consistent(record):
        raise StoreError(f"{source}: the line contradicts itself; remove it, then resume: its seed is run again")
    return record


def _is_consistent(record: Record) -> bool:
    graded = [(record.confirmation, record.confirmation_verdicts), (record.seekers, record.seeker_verdicts)]
    graded.append((record.again, record.again_verdicts))
    for past in record.rounds:
        graded += (past.rollouts, past.verdicts), (past.policy_rollouts, past.policy_verdicts)
    if evaluation := record.distractor_eval:
        graded.append((evaluation.without_distractors, evaluation.without_distractors_verdicts))
        graded.append((evaluation.with_distractors, evaluation.with_distractors_verdicts))
    graded += [(measurement.rollouts, measurement.verdicts) for measurement in record.measurements]
    graded += [(attempt.rollouts, attempt.verdicts) for attempt in (record.twin.tries if record.twin else ())]
    traces = [rollout.trajectory for rollouts, _ in graded for rollout in rollouts]
    traces += [past.agent for past in record.rounds]
    traces += [taught.rollout.trajectory for taught in record.teacher_rollouts]
    return all(len(rollouts) == len(verdicts) for rollouts, verdicts in graded) and all(
        {call.id for call in trace.calls} <= {message.tool_call_id for message in trace.messages} for trace in traces
    )
