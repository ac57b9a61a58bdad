"""The limits of one endpoint: calls in flight, requests and tokens per minute.

Concurrency adapts: a 429 cuts it by a quarter, once per burst (calls already in flight give no new information), and
successes raise it by one at a time, up to the configured limit. Rates are token buckets on the monotonic clock. Tokens
are estimated before a call and corrected after it.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from anyio import CapacityLimiter

from pipeline.config.models import Limits

CUT = 0.75
GROW_AFTER = 25
"""Successes after which one more call may be in flight; fewer if fewer calls may be in flight."""
_MINUTE = 60.0
_BURST = 5.0
"""How many seconds of a rate may be used at once."""


class Bucket:
    """A token bucket of `rate` units per minute. Taking more than it holds makes the next caller wait."""

    def __init__(self, rate: float) -> None:
        self._rate = rate / _MINUTE
        self._limit = max(self._rate * _BURST, 1.0)
        self._level, self._updated_at = self._limit, time.monotonic()

    def take(self, amount: float) -> float:
        """Take the amount now, and return the seconds to wait before using it."""
        now = time.monotonic()
        self._level = min(self._limit, self._level + (now - self._updated_at) * self._rate) - amount
        self._updated_at = now
        return max(0.0, -self._level / self._rate)


@dataclass
class Slot:
    """One call in flight. `tokens` is set from the answer."""

    epoch: int
    tokens: int


class Limiter:
    """The limits for one event loop. Waiting calls are served in order."""

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.concurrency
        self.concurrency = float(limits.concurrency)
        self.cuts = 0
        self._successes = 0
        self._slots = CapacityLimiter(limits.concurrency)
        self._requests = Bucket(limits.requests_per_minute) if limits.requests_per_minute else None
        self._tokens = Bucket(limits.tokens_per_minute) if limits.tokens_per_minute else None

    @property
    def load(self) -> float:
        """Return the calls in flight and waiting, as a multiple of those that may be in flight."""
        statistics = self._slots.statistics()
        return (statistics.borrowed_tokens + statistics.tasks_waiting) / statistics.total_tokens

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[Slot]:
        """Wait for room for one call of about `tokens` tokens."""
        call = object()
        await self._slots.acquire_on_behalf_of(call)
        try:
            waits = [self._requests.take(1) if self._requests else 0, self._tokens.take(tokens) if self._tokens else 0]
            if wait := max(waits):
                await asyncio.sleep(wait)
            slot = Slot(self.cuts, tokens)
            yield slot
            if self._tokens and slot.tokens != tokens:
                self._tokens.take(slot.tokens - tokens)
        finally:
            self._slots.release_on_behalf_of(call)

    def record_throttling(self, slot: Slot) -> None:
        if slot.epoch == self.cuts:
            self.cuts += 1
            self._allow(max(1.0, self.concurrency * CUT))

    def record_success(self) -> None:
        self._successes += 1
        if self._successes >= min(GROW_AFTER, int(self.concurrency)) and self.concurrency < self._limit:
            self._allow(min(float(self._limit), int(self.concurrency) + 1.0))

    def _allow(self, concurrency: float) -> None:
        self.concurrency = concurrency
        self._slots.total_tokens = int(concurrency)
        self._successes = 0
