"""All retries: which failures of one try are worth another, how long to wait, and when to give up.

Waits are drawn from all of [0, base * 2^n] (full jitter), or are what the server asks for, up to a minute. A call gives
up after a number of tries and its seed goes back to the queue; the run stops if the endpoint has answered nothing for
`patience_seconds`. A request that always fails while others are answered is given up: the run would never end.
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
from pipeline.llm.deadline import pause_clock
from pipeline.llm.limiter import Limiter, Slot

logger = logging.getLogger(__name__)
BASE, CAP = 0.5, 30.0
LONGEST = 60.0
"""The longest Retry-After that is honoured, in seconds."""
T = TypeVar("T")


Kind = Literal["passing", "throttled", "inside", "refused", "fatal"]
"""`inside`: the server accepted the request and failed on it, which may be the request's fault. `refused`: because of
its content or of the key."""


class CallFailure(Exception):
    """One try without an answer. The texts are for the user: no key, no escapes, one line. `own` describes a `refused`
    try that turns out to concern this request alone."""

    def __init__(self, line: str, kind: Kind = "passing", *, after: float | None = None, own: str = "") -> None:
        super().__init__(line)
        self.kind, self.after, self.own = kind, after, own


class EndpointHealth:
    """Recent failures of one endpoint, over all calls and roles. `probe` makes the plainest request there is."""

    def __init__(self, name: str, limits: Limits, probe: Callable[[], Awaitable[bool]]) -> None:
        self.name = name
        self.attempts = limits.attempts
        self._most = limits.patience_seconds
        self._probe = probe
        self._failures = 0
        self._first = 0.0
        self.answers = 0
        self._suspects: set[bytes] = set()
        self._given_up: set[bytes] = set()

    def answered(self) -> None:
        self.answers += 1
        if self._failures > self.attempts:
            logger.warning("%s answers again", self.name)
        self._failures = 0

    def described(self, failure: CallFailure) -> str:
        """The failure with the endpoint's name, which some hold already."""
        return str(failure) if self.name in str(failure) else f"{self.name}: {failure}"

    async def alive(self) -> bool:
        """Does it answer the plainest request?"""
        if alive := await self._probe():
            self.answered()
        return alive

    def tries(self, digest: Callable[[], bytes]) -> int:
        """How many tries a request has: one if it was given up before."""
        return 1 if self._given_up and digest() in self._given_up else self.attempts

    async def own_fault(self, failures: list[CallFailure], answers: int, digest: Callable[[], bytes]) -> bool:
        """Is the request to blame for all its failures? Not if the endpoint answers nothing else either: nothing since
        there were `answers`, and no probe now. Failures inside a server that answers others count at once; what may be
        a bad gateway or connection counts when the request comes back from the queue and fails again."""
        blamed = [failure for failure in failures if failure.kind != "throttled"]
        others = self.answers > answers
        if 2 * len(blamed) <= len(failures) or not (others or await self.alive()):
            return False
        name = digest()
        if name in self._suspects or (others and all(failure.kind == "inside" for failure in failures)):
            self._given_up.add(name)
        self._suspects.add(name)
        return name in self._given_up

    async def failed(self, failure: CallFailure) -> None:
        """Count a failure. Raises ProviderError where waiting is in vain."""
        if failure.kind == "fatal":
            raise ProviderError(str(failure), then="stop") from failure
        if not self._failures:
            self._first = time.monotonic()
        self._failures += 1
        if self._failures == self.attempts + 1:
            logger.warning("%s; trying again for up to %.0f s", self.described(failure), self._most)
        silent = time.monotonic() - self._first
        if silent > self._most and self._failures >= self.attempts and not await self.alive():
            raise ProviderError(f"no answer for {silent:.0f} s: {self.described(failure)}", then="stop") from failure


async def with_retries(
    once: Callable[[Slot], Awaitable[T]],
    limiter: Limiter,
    health: EndpointHealth,
    *,
    tokens: int,
    digest: Callable[[], bytes],
) -> T:
    """Call `once` until it answers. Raises ProviderError and BudgetExceeded, and the last CallFailure where the request
    is given up. `digest` is the request's.
    """
    failures: list[CallFailure] = []
    answers = 0
    tries = health.tries(digest)
    with pause_clock() as clock:
        for number in range(tries):
            async with limiter.slot(tokens) as slot:
                budget.check()
                began = time.monotonic()
                try:
                    answer = await once(slot)
                except CallFailure as failure:
                    answers = answers if failures else health.answers
                    failures.append(failure)
                    if failure.kind == "throttled":
                        limiter.throttled(slot)
                else:
                    clock.used = time.monotonic() - began
                    limiter.succeeded()
                    health.answered()
                    return answer
            await health.failed(failures[-1])
            if number + 1 < tries:
                await asyncio.sleep(pause(number, failures[-1].after))
        if await health.own_fault(failures, answers, digest):
            raise failures[-1]
    line = f"{health.described(failures[-1])}, {tries} times in a row"
    raise ProviderError(line, then="requeue") from failures[-1]


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
