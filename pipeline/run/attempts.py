"""`attempts.jsonl`: what every try at a seed took, outside the promise of equal bytes."""

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from pipeline.llm.ledger import Ledger, Spending
from pipeline.types import Data, Seed

NAME = "attempts.jsonl"


class Attempt(Data):
    """A row: one try at one seed, with what the promise of equal bytes leaves out."""

    key: str
    ended: str
    """The record's status, or the name of the error."""
    reason: str
    began: str
    seconds: float
    spent: Spending


def attempt(seed: Seed, ended: str, reason: str, since: tuple[datetime, float], ledger: Ledger) -> Attempt:
    """The row of a try that ends now; `since` is when it began, by the calendar and by the monotonic clock."""
    began, clock = since
    return Attempt(
        key=seed.key,
        ended=ended,
        reason=reason,
        began=began.isoformat(timespec="seconds"),
        seconds=time.monotonic() - clock,
        spent=ledger.spending,
    )


def spent(folder: Path) -> Spending:
    """Over all tries at the run in `folder`, those that were interrupted too."""
    ledger = Ledger()
    for attempt in read(folder):
        ledger.take(attempt.spent)
    return ledger.spending


def read(folder: Path) -> Iterator[Attempt]:
    """The rows, without those that a kill has torn: they are told in no figure that anything rests on."""
    path = folder / NAME
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                with suppress(ValidationError):
                    yield Attempt.model_validate_json(line)
