"""The attempts of one call, the delays between them, and the health of an endpoint.

`Pool` uses these rules to choose the next endpoint. If a call has no attempts left, its seed goes back to the queue of
the run. A delay is drawn from [0, base * 2^n] (full jitter), or is what the server asks for, up to a minute.
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

from pipeline.llm.ledger import note_failed_attempt

logger = logging.getLogger(__name__)
BASE, CAP = 0.5, 30.0
LONGEST = 60.0
"""The longest Retry-After that is honoured, in seconds."""
DOWN_AFTER = 3
"""Failures in a row after which an endpoint counts as down."""
AGAIN = 10.0
"""Seconds between two probes of an endpoint that is down."""

FailureKind = Literal["passing", "throttled", "inside", "refused", "fatal"]
"""`inside`: the server accepted the request and failed on it, which may be the request's fault. `refused`: the server
refused the request because of its content or the key."""


class CallFailure(Exception):
    """One attempt without an answer.

    The texts are for the user: one line, without keys and escapes. `request_line` replaces the message of a `refused`
    attempt if the endpoint turns out to refuse only this request.
    """

    def __init__(
        self, line: str, kind: FailureKind = "passing", *, after: float | None = None, request_line: str = ""
    ) -> None:
        super().__init__(line)
        self.kind, self.after, self.request_line = kind, after, request_line


class EndpointHealth:
    """The recent failures of one endpoint, over all calls and roles. `probe` sends it a minimal request."""

    def __init__(self, name: str, probe: Callable[[], Awaitable[bool]]) -> None:
        self.name = name
        self.answers = 0
        self.failures = 0
        """The number of failures since the last answer."""
        self.down = False
        """Whether too many calls in a row have failed (429 does not count), or waiting cannot help."""
        self._broken = 0
        self._first, self._due = 0.0, 0.0
        self._probe = probe
        self._probing: asyncio.Task[bool] | None = None
        self._warned = False

    @property
    def silent_seconds(self) -> float:
        """Return the seconds since the first failure after the last answer."""
        return time.monotonic() - self._first if self.failures else 0.0

    def record_answer(self) -> None:
        self.answers += 1
        if self._warned:
            logger.warning("%s answers again", self.name)
        self.failures = self._broken = 0
        self.down = self._warned = False

    def record_failure(self, failure: CallFailure) -> None:
        if not self.failures:
            self._first = time.monotonic()
        self.failures += 1
        self._broken += failure.kind != "throttled"
        if not self.down and (self._broken >= DOWN_AFTER or failure.kind == "fatal"):
            self.down, self._due = True, 0.0

    def describe(self, failure: CallFailure) -> str:
        """Return the failure's message with the endpoint's name, which some messages contain already."""
        return str(failure) if self.name in str(failure) else f"{self.name}: {failure}"

    def warn(self, failure: CallFailure, consequence: str) -> None:
        logger.warning("%s; %s", self.describe(failure), consequence)
        self._warned = True

    async def is_alive(self) -> bool:
        if is_alive := await self._probe():
            self.record_answer()
        return is_alive

    def probe_if_down(self) -> None:
        """Start a probe beside all calls: at once, since one bad request may have been the cause, then at intervals."""
        if self.down and time.monotonic() >= self._due and (self._probing is None or self._probing.done()):
            self._due = time.monotonic() + AGAIN
            self._probing = asyncio.create_task(self.is_alive())


class CallAttempts:
    """The failed attempts of one call at each endpoint, of which there may be `limit`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.failures: dict[EndpointHealth, list[CallFailure]] = {}
        self.answers: dict[EndpointHealth, int] = {}
        """How many calls each endpoint had answered at the first failure there."""
        self._ready: dict[EndpointHealth, float] = {}

    def record_failure(self, health: EndpointHealth, failure: CallFailure) -> None:
        note_failed_attempt()
        self.answers.setdefault(health, health.answers)
        failures = self.failures.setdefault(health, [])
        self._ready[health] = time.monotonic() + retry_delay(len(failures), failure.after)
        failures.append(failure)

    def remain(self, health: EndpointHealth) -> bool:
        return len(self.failures.get(health, ())) < self.limit

    def wait_seconds(self, health: EndpointHealth) -> float:
        return max(0.0, self._ready.get(health, 0.0) - time.monotonic())


def retry_delay(failures: int, after: float | None) -> float:
    """Return the seconds before the next attempt: what the server asks for, or a random delay (full jitter)."""
    return after or random.random() * min(CAP, BASE * 2**failures)


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds of a Retry-After header (a number or a date), within [0, 60], or None if it has none."""
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
