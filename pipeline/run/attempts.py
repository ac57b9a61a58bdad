"""`attempts.jsonl`: what every try at a seed took, outside the promise of equal bytes."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from pydantic import ValidationError

from pipeline.llm.ledger import Ledger, Spending, counting
from pipeline.store.files import Appender
from pipeline.store.tables import scan_json_lines
from pipeline.types import Data, Record, Seed

NAME = "attempts.jsonl"
MODES = "modes"
"""The end of the search for the way in which models call tools, before any seed."""
AFTERWARDS = frozenset({"remeasured", "forked", MODES})
"""Ends of what is no try at a seed: what was done with the finished pairs of a run, and that search."""

REFUSED = "refused"
"""The reason of a seed that ended since the server refused a request."""
_ERRORS = (("tool", "Error: "), ("user", "Your last message "))
"""How the messages begin that tell an agent what cannot be used, by their role."""


class Attempt(Data):
    """A row: one try at one seed, with what the promise of equal bytes leaves out."""

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
    """The digests of its requests, where there is such a format error."""


def attempt(seed: Seed, ended: str, reason: str, ledger: Ledger, error: str = "") -> Attempt:
    """The row of a try that ends now and began with its ledger."""
    return Attempt(
        key=seed.key,
        ended=ended,
        reason=reason,
        began=ledger.began.isoformat(timespec="milliseconds"),
        seconds=ledger.seconds,
        spent=ledger.spending,
        error=error,
        # What a server answered before it refused a request is a model's answer, and stays in the cache.
        asked=tuple(sorted(digest.hex() for digest in ledger.asked)) if error and reason != REFUSED else (),
    )


async def attempted(
    seed: Seed, run_seed: Callable[[Seed], Awaitable[Record]]
) -> tuple[Attempt, Record | BaseException]:
    """One try at a seed: its row, and the record, or what it raised."""
    with counting() as ledger:
        try:
            record = await run_seed(seed)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the caller raises it
            return attempt(seed, type(error).__name__, "", ledger), error
        unreadable = format_error(record, ledger.unread)
        return attempt(seed, record.status.value, record.reason, ledger, unreadable), record


def format_error(record: Record, unread: str = "") -> str:
    """Return the commonest format error of a seed that ended without a draft or a verdict, without its own names and
    numbers, or the server's refusal; empty if it had none or ended otherwise. `unread` is why it ended early."""
    if record.reason in ("no_verdict", REFUSED):
        return unread
    if not record.reason.startswith("no_draft:"):
        return ""
    said = Counter(
        _kind(message.content.removeprefix("Error: "))
        for message in record.rounds[-1].agent.messages
        for role, start in _ERRORS
        if message.role == role and message.content.startswith(start)
    )
    return said.most_common(1)[0][0] if said else ""


def _kind(line: str) -> str:
    """The error without names and numbers, which differ from one seed to the next, and without the call that is shown
    as right."""
    line = re.sub(r"; \w+ needs \{.*", "", line.split("\n")[0])
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'…'", line))[:200]


class AttemptLog:
    """The file of the run in `folder`, to be added to; the caller holds the run's lock."""

    def __init__(self, folder: Path) -> None:
        self._lines = Appender(folder / NAME, synced=False)

    def add(self, attempt: Attempt) -> None:
        self._lines.append(attempt.model_dump_json().encode())

    @contextmanager
    def noting(self, seed: Seed, ended: str, reason: str) -> Iterator[None]:
        """The body as one try. Where it fails, what it took is noted all the same, with the error as its end."""
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


def spent(folder: Path, reason: str | None = None) -> Spending:
    """Over all tries at the run in `folder`, those that were interrupted too; with a `reason`, over those of it."""
    total: dict[str, Any] = {}
    # Trees of numbers: as objects, the rows of a hundred thousand seeds take half a minute to add up.
    for line in _lines(folder):
        with suppress(orjson.JSONDecodeError):
            row = orjson.loads(line)
            if reason in (None, row["reason"]):
                _add(total, row["spent"])
    return Spending.model_validate(total)


def _add(total: dict[str, Any], tree: dict[str, Any]) -> None:
    for name, value in tree.items():
        if isinstance(value, dict):
            _add(total.setdefault(name, {}), value)
        elif value is None or total.get(name, 0) is None:
            total[name] = None
        elif value:
            total[name] = total.get(name, 0) + value


def read(folder: Path) -> Iterator[Attempt]:
    """Yield the rows, skipping a line that a kill has torn: these rows are for people, and no promise rests on them."""
    for line in _lines(folder):
        with suppress(ValidationError):
            yield Attempt.model_validate_json(line)


def _lines(folder: Path) -> Iterator[bytes]:
    if (path := folder / NAME).exists():
        with path.open("rb") as file:
            yield from file


def tried(folder: Path) -> pl.LazyFrame | None:
    """When each try began, how many seconds it took and how it ended, as a table; None where nothing was noted."""
    path, columns = folder / NAME, {"ended": pl.String, "began": pl.String, "seconds": pl.Float64}
    return scan_json_lines(path, columns) if path.exists() and path.stat().st_size else None
