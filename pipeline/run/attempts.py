"""`attempts.jsonl`: the cost of each attempt at a seed. These rows are not part of the promise of equal bytes."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from pydantic import ValidationError

from pipeline.llm.ledger import Ledger, Spending, counting
from pipeline.store.files import Appender
from pipeline.store.tables import scan_json_lines
from pipeline.types import Data, ReasonCode, Record, Seed

NAME = "attempts.jsonl"
MODES, REFRESHED = "modes", "refreshed"
"""Values of `ended` for work before any seed: the search for the models' tool modes, and carried pairs solved again."""
AFTERWARDS = frozenset({"remeasured", "forked", MODES, REFRESHED})
"""Values of `ended` for rows that are no attempt at a seed: later work on finished pairs, and that before any seed."""

_ERRORS = (("tool", "Error: "), ("user", "Your last message "))
"""The beginning of messages that tell an agent about an error, by role."""


class Attempt(Data):
    """A row: one attempt at a seed, with what varies from run to run."""

    key: str
    ended: str
    """The record's status, or the name of the error."""
    reason: str
    began: str
    seconds: float
    spent: Spending
    error: str = ""
    """The commonest format error of a seed that ended without a draft or a verdict, or the server's refusal."""
    asked: tuple[str, ...] = ()
    """The digests of its requests, if there is such a format error."""


def attempt(seed: Seed, ended: str, reason: str, ledger: Ledger, error: str = "") -> Attempt:
    return Attempt(
        key=seed.key,
        ended=ended,
        reason=reason,
        began=ledger.began.isoformat(timespec="milliseconds"),
        seconds=ledger.seconds,
        spent=ledger.spending,
        error=error,
        # Answers from before a refused request are the model's own, and stay in the cache.
        asked=() if not error or reason == ReasonCode.REFUSED else tuple(sorted(d.hex() for d in ledger.digests)),
    )


async def run_attempt(
    seed: Seed, run_seed: Callable[[Seed], Awaitable[Record]]
) -> tuple[Attempt, Record | BaseException]:
    with counting() as ledger:
        try:
            record = await run_seed(seed)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the caller raises it
            return attempt(seed, type(error).__name__, "", ledger), error
        unreadable = format_error(record, ledger.end_cause)
        return attempt(seed, record.status.value, record.reason, ledger, unreadable), record


def format_error(record: Record, unread: str = "") -> str:
    """Return the most frequent format error of a seed that ended without a draft or a verdict, or a server's refusal.

    Names and numbers are left out. Returns an empty text if there was no error or the seed ended otherwise. `unread`
    says why the seed ended early.
    """
    reason = record.parsed_reason
    if not reason.is_inconclusive:
        return ""
    if reason.code != ReasonCode.NO_DRAFT:
        return unread
    errors = Counter(
        _generalise_error(message.content.removeprefix("Error: "))
        for message in record.rounds[-1].agent.messages
        for role, prefix in _ERRORS
        if message.role == role and message.content.startswith(prefix)
    )
    return errors.most_common(1)[0][0] if errors else ""


def _generalise_error(line: str) -> str:
    """Remove names and numbers, which differ between seeds, and the example of a correct call."""
    line = re.sub(r"; \w+ needs \{.*", "", line.split("\n")[0])
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'…'", line))[:200]


class AttemptLog:
    """The attempts file of the run in `folder`, open to be added to. The caller holds the run's lock."""

    def __init__(self, folder: Path) -> None:
        self._lines = Appender(folder / NAME, synced=False)

    def add(self, attempt: Attempt) -> None:
        self._lines.append(attempt.model_dump_json().encode())

    @contextmanager
    def noting(self, seed: Seed, ended: str, reason: str) -> Iterator[None]:
        """Log the body as one attempt. If it fails, its cost is logged all the same, with the error as its end."""
        with counting() as ledger:
            try:
                yield
            except BaseException as error:
                ended = type(error).__name__
                raise
            finally:
                self.add(attempt(seed, ended, reason, ledger))

    def close(self) -> None:
        self._lines.close()


def note_work(folder: Path, ended: str, ledger: Ledger) -> None:
    """Log work that belongs to no seed. The caller holds the lock of the run in `folder`."""
    began = ledger.began.isoformat(timespec="milliseconds")
    row = Attempt(key="", ended=ended, reason="", began=began, seconds=ledger.seconds, spent=ledger.spending)
    with closing(AttemptLog(folder)) as attempt_log:
        attempt_log.add(row)


def total_spending(folder: Path, reason: str | None = None) -> Spending:
    """Add up all attempts at the run in `folder`, interrupted ones too, or only those with this `reason`."""
    total: dict[str, Any] = {}
    # Add up plain dictionaries: parsing the rows of 100,000 seeds into objects takes half a minute.
    for line in _lines(folder):
        with suppress(orjson.JSONDecodeError):
            row = orjson.loads(line)
            if reason in (None, row["reason"]):
                _add_spending(total, row["spent"])
    return Spending.model_validate(total)


def _add_spending(total: dict[str, Any], tree: dict[str, Any]) -> None:
    for name, value in tree.items():
        if isinstance(value, dict):
            _add_spending(total.setdefault(name, {}), value)
        elif value is None or total.get(name, 0) is None:
            total[name] = None
        elif value:
            total[name] = total.get(name, 0) + value


def read(folder: Path) -> Iterator[Attempt]:
    """Yield the rows. Skip a line that a kill has torn: these rows are for people, and nothing relies on them."""
    for line in _lines(folder):
        with suppress(ValidationError):
            yield Attempt.model_validate_json(line)


def _lines(folder: Path) -> Iterator[bytes]:
    if (path := folder / NAME).exists():
        with path.open("rb") as file:
            yield from file


def scan_attempts(folder: Path) -> pl.LazyFrame | None:
    """Return when each attempt began, its seconds and how it ended, as a table, or None if nothing was logged."""
    path, columns = folder / NAME, {"ended": pl.String, "began": pl.String, "seconds": pl.Float64}
    return scan_json_lines(path, columns) if path.exists() and path.stat().st_size else None
