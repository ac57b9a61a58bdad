"""`attempts.jsonl`: what every try at a seed took, outside the promise of equal bytes."""

import time
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from pipeline.llm.ledger import Ledger, Spent
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
    spent: dict[str, Spent]
    """By role."""


def attempt(seed: Seed, ended: str, reason: str, since: tuple[datetime, float], ledger: Ledger) -> Attempt:
    """The row of a try that ends now; `since` is when it began, by the calendar and by the monotonic clock."""
    began, clock = since
    return Attempt(
        key=seed.key,
        ended=ended,
        reason=reason,
        began=began.isoformat(timespec="seconds"),
        seconds=time.monotonic() - clock,
        spent=ledger.roles,
    )


def spent(folder: Path) -> dict[str, Spent]:
    """By role, over all tries at the run in `folder`, those that were interrupted too."""
    total: dict[str, Spent] = {}
    path = folder / NAME
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                for role, more in _read(line).items():
                    total[role] = total.get(role, Spent()) + more
    return total


def _read(line: bytes) -> dict[str, Spent]:
    """Nothing for a line that a kill has torn: it is told in no figure that anything rests on."""
    try:
        return Attempt.model_validate_json(line).spent
    except ValidationError:
        return {}
