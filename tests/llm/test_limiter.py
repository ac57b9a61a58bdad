"""Concurrency falls once per burst of 429 and grows with success; rates hold over time."""

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config.models import Limits
from pipeline.llm.limiter import CUT, GROW_AFTER, Bucket, Limiter


async def test_a_burst_of_429_cuts_once() -> None:
    limiter = Limiter(Limits(concurrency=64))
    async with limiter.slot(1) as first, limiter.slot(1) as second, limiter.slot(1) as third:
        for slot in (first, second, third):
            limiter.record_throttling(slot)
    assert (limiter.cuts, limiter.concurrency) == (1, 64 * CUT)
    async with limiter.slot(1) as later:
        limiter.record_throttling(later)
    assert (limiter.cuts, limiter.concurrency) == (2, 64 * CUT * CUT)


async def test_success_raises_concurrency_again_up_to_the_limit() -> None:
    limiter = Limiter(Limits(concurrency=64))
    async with limiter.slot(1) as slot:
        limiter.record_throttling(slot)
    for _ in range(GROW_AFTER):
        limiter.record_success()
    assert limiter.concurrency == 64 * CUT + 1
    for _ in range(GROW_AFTER * 100):
        limiter.record_success()
    assert limiter.concurrency == 64


@settings(max_examples=50)
@given(st.lists(st.booleans(), max_size=300), st.integers(1, 50))
def test_concurrency_never_leaves_its_bounds(events: list[bool], maximum: int) -> None:
    async def run() -> None:
        limiter = Limiter(Limits(concurrency=maximum))
        for good in events:
            async with asyncio.timeout(5), limiter.slot(1) as slot:
                limiter.record_success() if good else limiter.record_throttling(slot)
            assert 1 <= int(limiter.concurrency) <= maximum

    asyncio.run(run())


async def test_a_cancelled_waiter_takes_no_slot() -> None:
    limiter = Limiter(Limits(concurrency=1))

    async def call() -> None:
        async with limiter.slot(1):
            await asyncio.sleep(0.01)

    tasks = [asyncio.create_task(call()) for _ in range(6)]
    await asyncio.sleep(0)
    for task in tasks[1:5]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(1), limiter.slot(1):
        pass


async def test_requests_per_minute_are_limited() -> None:
    """Allow 600 a minute, that is ten a second; five seconds' worth may come at once, then one in 0.1 s."""
    limiter, began = Limiter(Limits(requests_per_minute=600)), time.monotonic()
    for _ in range(53):
        async with limiter.slot(1):
            pass
    assert 0.25 <= time.monotonic() - began < 1.5


def test_a_wrong_estimate_of_tokens_is_corrected() -> None:
    bucket = Bucket(600)
    assert bucket.take(50) == 0
    assert bucket.take(100) == pytest.approx(10, abs=0.1)
    bucket.take(-90)
    assert bucket.take(0) == pytest.approx(1, abs=0.1)
