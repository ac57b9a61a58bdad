"""Whose clock runs: an agent's own, not that of the work around it."""

import asyncio

import pytest

from pipeline.errors import DeadlineExceeded
from pipeline.llm.deadline import deadline, with_timeouts


def test_a_clock_within_holds_up_the_one_around_it() -> None:
    async def three_agents() -> str:
        async with deadline(0.3):
            for _ in range(3):
                async with deadline(0.3):
                    await asyncio.sleep(0.2)
            return "done"

    assert asyncio.run(three_agents()) == "done"


def test_the_clock_around_goes_on_where_it_stood() -> None:
    async def slow() -> None:
        async with deadline(0.2):
            async with deadline(5):
                await asyncio.sleep(0.3)
            await asyncio.sleep(5)

    with pytest.raises(DeadlineExceeded):
        asyncio.run(slow())


def test_the_clock_within_still_ends_its_agent() -> None:
    async def stuck() -> None:
        async with deadline(60), deadline(0.05):
            await asyncio.sleep(5)

    with pytest.raises(DeadlineExceeded):
        asyncio.run(stuck())


def test_a_timeout_of_what_it_times_is_not_its_own() -> None:
    tries = 0

    async def refused() -> None:
        nonlocal tries
        tries += 1
        raise TimeoutError("the disk")

    with pytest.raises(TimeoutError, match="the disk"):
        asyncio.run(with_timeouts(refused, 60))
    assert tries == 1, "and is not tried again as if the clock had ended it"


def test_what_its_clock_ends_is_tried_once_more() -> None:
    tries = 0

    async def stuck() -> None:
        nonlocal tries
        tries += 1
        await asyncio.sleep(5)

    with pytest.raises(DeadlineExceeded):
        asyncio.run(with_timeouts(stuck, 0.02))
    assert tries == 2
