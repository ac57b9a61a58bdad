"""Who tries again: the tries of one call, how long it waits between them, and what its failures say of an endpoint.

`Pool` asks by these rules which endpoint is next; a seed whose call has no try left goes back to the queue of the run.
Waits are drawn from all of [0, base * 2^n] (full jitter), or are what the server asks for, up to a minute.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

from pipeline.llm.ledger import note_failed_try

logger = logging.getLogger(__name__)
BASE, CAP = 0.5, 30.0
LONGEST = 60.0
"""The longest Retry-After that is honoured, in seconds."""
DOWN_AFTER = 3
"""Failures in a row after which an endpoint counts as down."""
AGAIN = 10.0
"""Seconds between two looks at an endpoint that is down."""

FailureKind = Literal["passing", "throttled", "inside", "refused", "fatal"]
"""`inside`: the server accepted the request and failed on it, which may be the request's fault. `refused`: because of
its content or of the key."""


class CallFailure(Exception):
    """One try without an answer. The texts are for the user: no key, no escapes, one line. `own` describes a `refused`
    try that turns out to concern this request alone."""

    def __init__(self, line: str, kind: FailureKind = "passing", *, after: float | None = None, own: str = "") -> None:
        super().__init__(line)
        self.kind, self.after, self.own = kind, after, own


class EndpointHealth:
    """Recent failures of one endpoint, over all calls and roles. `probe` makes the plainest request there is."""

    def __init__(self, name: str, probe: Callable[[], Awaitable[bool]]) -> None:
        self.name = name
        self.answers = 0
        self.failures = 0
        """Since the last answer."""
        self.down = False
        """Too many calls in a row have failed, those that were answered 429 apart; or waiting is in vain."""
        self._broken = 0
        self._first, self._due = 0.0, 0.0
        self._probe = probe
        self._probing: asyncio.Task[bool] | None = None
        self._warned = False

    @property
    def silent(self) -> float:
        """Seconds since the first failure after the last answer."""
        return time.monotonic() - self._first if self.failures else 0.0

    def answered(self) -> None:
        self.answers += 1
        if self._warned:
            logger.warning("%s answers again", self.name)
        self.failures = self._broken = 0
        self.down = self._warned = False

    def failed(self, failure: CallFailure) -> None:
        if not self.failures:
            self._first = time.monotonic()
        self.failures += 1
        self._broken += failure.kind != "throttled"
        if not self.down and (self._broken >= DOWN_AFTER or failure.kind == "fatal"):
            self.down, self._due = True, 0.0

    def described(self, failure: CallFailure) -> str:
        """The failure with the endpoint's name, which some hold already."""
        return str(failure) if self.name in str(failure) else f"{self.name}: {failure}"

    def warn(self, failure: CallFailure, then: str) -> None:
        logger.warning("%s; %s", self.described(failure), then)
        self._warned = True

    async def alive(self) -> bool:
        """Does it answer the plainest request?"""
        if alive := await self._probe():
            self.answered()
        return alive

    def look_again(self) -> None:
        """Where it is down, ask it the plainest request, beside all calls: at first at once, since one bad request may
        be all that was wrong, and then from time to time."""
        if self.down and time.monotonic() >= self._due and (self._probing is None or self._probing.done()):
            self._due = time.monotonic() + AGAIN
            self._probing = asyncio.create_task(self.alive())


class CallTries:
    """The failures of one call by endpoint, and how many answers each had given to others at the first of them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.failures: dict[EndpointHealth, list[CallFailure]] = {}
        self.answers: dict[EndpointHealth, int] = {}
        self._ready: dict[EndpointHealth, float] = {}

    def failed(self, health: EndpointHealth, failure: CallFailure) -> None:
        note_failed_try()
        self.answers.setdefault(health, health.answers)
        failures = self.failures.setdefault(health, [])
        self._ready[health] = time.monotonic() + pause(len(failures), failure.after)
        failures.append(failure)

    def left(self, health: EndpointHealth) -> bool:
        return len(self.failures.get(health, ())) < self.most

    def wait(self, health: EndpointHealth) -> float:
        """Seconds until the endpoint may be asked again."""
        return max(0.0, self._ready.get(health, 0.0) - time.monotonic())


def pause(number: int, after: float | None) -> float:
    """Seconds before the next try: what the server asks for, else full jitter."""
    return after or random.random() * min(CAP, BASE * 2**number)


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """The seconds of a Retry-After header (a number or a date) within [0, 60]; None where it has none."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        seconds = (date - (now or datetime.now(UTC))).total_seconds()
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST)
