"""The limits of one endpoint: calls in flight, requests and tokens a minute.

Concurrency adapts: a 429 cuts it by a quarter, once per burst (calls that were already in flight say nothing new), and
successes let it grow by one at a time, up to the configured limit. Rates are token buckets on the monotonic clock;
tokens are estimated before a call and corrected after it.
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
"""Successes after which one more call may be in flight; fewer where fewer are."""
_MINUTE = 60.0
_BURST = 5.0
"""The seconds of a rate that may be used at once."""


class Bucket:
    """`rate` units a minute. What is taken beyond the level is waited for by the next."""

    def __init__(self, rate: float) -> None:
        self._rate = rate / _MINUTE
        self._most = max(self._rate * _BURST, 1.0)
        self._level, self._at = self._most, time.monotonic()

    def take(self, amount: float) -> float:
        """Take the amount at once; the seconds to wait before using it."""
        now = time.monotonic()
        self._level = min(self._most, self._level + (now - self._at) * self._rate) - amount
        self._at = now
        return max(0.0, -self._level / self._rate)


@dataclass
class Slot:
    """One call in flight. `tokens` is set from the answer."""

    epoch: int
    tokens: int


class Limiter:
    """The limits for one event loop. Waiting calls are served in order."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.concurrency
        self.concurrency = float(limits.concurrency)
        self.cuts = 0
        self._good = 0
        self._places = CapacityLimiter(limits.concurrency)
        self._requests = Bucket(limits.requests_per_minute) if limits.requests_per_minute else None
        self._tokens = Bucket(limits.tokens_per_minute) if limits.tokens_per_minute else None

    @property
    def load(self) -> float:
        """Calls in flight and waiting, as a multiple of those that may be in flight."""
        places = self._places.statistics()
        return (places.borrowed_tokens + places.tasks_waiting) / places.total_tokens

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncIterator[Slot]:
        """Room for one call of about so many tokens."""
        call = object()
        await self._places.acquire_on_behalf_of(call)
        try:
            waits = [self._requests.take(1) if self._requests else 0, self._tokens.take(tokens) if self._tokens else 0]
            if wait := max(waits):
                await asyncio.sleep(wait)
            slot = Slot(self.cuts, tokens)
            yield slot
            if self._tokens and slot.tokens != tokens:
                self._tokens.take(slot.tokens - tokens)
        finally:
            self._places.release_on_behalf_of(call)

    def throttled(self, slot: Slot) -> None:
        """The call of the slot was answered 429."""
        if slot.epoch == self.cuts:
            self.cuts += 1
            self._allow(max(1.0, self.concurrency * CUT))

    def succeeded(self) -> None:
        self._good += 1
        if self._good >= min(GROW_AFTER, int(self.concurrency)) and self.concurrency < self._most:
            self._allow(min(float(self._most), int(self.concurrency) + 1.0))

    def _allow(self, concurrency: float) -> None:
        self.concurrency = concurrency
        self._places.total_tokens = int(concurrency)
        self._good = 0
