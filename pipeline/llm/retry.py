"""The one owner of retries: which failures of one try are worth another, how long to wait, and when to give up.

Waits are drawn from all of [0, base * 2^n] (full jitter) on the monotonic clock, or are what the server asks for,
within a minute. A call gives up after so many tries and its seed goes back to the queue; the run stops where the
endpoint has not answered anything for the configured patience. A request that alone is never answered, while others
are, is left out in the end: it would hold up its run for ever.
"""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, TypeVar

from pipeline.config.models import Limits
from pipeline.errors import ProviderError
from pipeline.llm import budget
from pipeline.llm.deadline import held
from pipeline.llm.limiter import Limiter, Slot

logger = logging.getLogger(__name__)
BASE, CAP = 0.5, 30.0
LONGEST = 60.0
"""Seconds of a Retry-After that are honoured."""
T = TypeVar("T")


Kind = Literal["passing", "throttled", "inside", "refused", "fatal"]
"""`inside`: the server took the request and broke on it, which may be the request's own fault. `refused`: for what it
asks or for the key."""


class CallFailure(Exception):
    """One try that got no answer. The texts are for the user: no key, no escapes, one line. `own` is what to say of a
    `refused` one that turns out to be of this request alone."""

    def __init__(self, line: str, kind: Kind = "passing", *, after: float | None = None, own: str = "") -> None:
        super().__init__(line)
        self.kind, self.after, self.own = kind, after, own


async def _dead() -> bool:
    return False


class EndpointHealth:
    """How one endpoint has been doing, over all calls and roles. `probe` asks it the plainest request there is."""

    def __init__(self, name: str, limits: Limits, probe: Callable[[], Awaitable[bool]] = _dead) -> None:
        self.name = name
        self.attempts = limits.attempts
        self._most = limits.patience_seconds
        self._probe = probe
        self._failures = 0
        self._first = 0.0
        self.answers = 0
        self._suspects: set[bytes] = set()
        self._left_out: set[bytes] = set()

    def answered(self) -> None:
        self.answers += 1
        if self._failures > self.attempts:
            logger.warning("%s answers again", self.name)
        self._failures = 0

    def said(self, failure: CallFailure) -> str:
        """With the endpoint's name, which some failures tell and others do not."""
        return str(failure) if self.name in str(failure) else f"{self.name}: {failure}"

    async def alive(self) -> bool:
        """Does it answer a request that nothing can be wrong with?"""
        if alive := await self._probe():
            self.answered()
        return alive

    def tries(self, digest: Callable[[], bytes]) -> int:
        """One for a request that was left out before: its seed may come to it again."""
        return 1 if self._left_out and digest() in self._left_out else self.attempts

    async def own_fault(self, failures: list[CallFailure], answers: int, digest: Callable[[], bytes]) -> bool:
        """Is the request to blame for all its tries? Not where the endpoint answered nothing else since there were
        `answers`, and does not now. What breaks within a server that answers others is believed at once; what may be a
        bad gateway or line is believed when the request comes back from the queue and fails as often again."""
        blamed = [failure for failure in failures if failure.kind != "throttled"]
        others = self.answers > answers
        if 2 * len(blamed) <= len(failures) or not (others or await self.alive()):
            return False
        name = digest()
        if name in self._suspects or (others and all(failure.kind == "inside" for failure in failures)):
            self._left_out.add(name)
        self._suspects.add(name)
        return name in self._left_out

    async def failed(self, failure: CallFailure) -> None:
        """Raises ProviderError where no more waiting makes sense."""
        if failure.kind == "fatal":
            raise ProviderError(str(failure), then="stop") from failure
        if not self._failures:
            self._first = time.monotonic()
        self._failures += 1
        if self._failures == self.attempts + 1:
            logger.warning("%s; asking again for up to %.0f s", self.said(failure), self._most)
        silent = time.monotonic() - self._first
        if silent > self._most and self._failures >= self.attempts and not await self.alive():
            raise ProviderError(f"no answer for {silent:.0f} s: {self.said(failure)}", then="stop") from failure


async def with_retries(
    once: Callable[[Slot], Awaitable[T]],
    limiter: Limiter,
    patience: EndpointHealth,
    *,
    tokens: int,
    digest: Callable[[], bytes],
) -> T:
    """`once` until it answers. Raises ProviderError and BudgetExceeded, and the last Failure where the request is left
    out: it would fail for ever, and the run would never end. `digest` is the request's.
    """
    failures: list[CallFailure] = []
    answers = 0
    tries = patience.tries(digest)
    with held() as clock:
        for number in range(tries):
            async with limiter.slot(tokens) as slot:
                budget.check()
                began = time.monotonic()
                try:
                    answer = await once(slot)
                except CallFailure as failure:
                    answers = answers if failures else patience.answers
                    failures.append(failure)
                    if failure.kind == "throttled":
                        limiter.throttled(slot)
                else:
                    clock.used = time.monotonic() - began
                    limiter.succeeded()
                    patience.answered()
                    return answer
            await patience.failed(failures[-1])
            if number + 1 < tries:
                await asyncio.sleep(pause(number, failures[-1].after))
        if await patience.own_fault(failures, answers, digest):
            raise failures[-1]
    line = f"{patience.said(failures[-1])}, {tries} times in a row"
    raise ProviderError(line, then="requeue") from failures[-1]


def pause(number: int, after: float | None) -> float:
    """Seconds before the next try. A server that asks for none gets the jitter all the same."""
    return after or random.random() * min(CAP, BASE * 2**number)


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """The seconds of a Retry-After header (a number or a date) within [0, 60]; None where it says nothing."""
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
