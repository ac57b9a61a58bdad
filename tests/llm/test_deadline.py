"""Nested clocks: an agent's clock runs, and the one around it waits."""

import asyncio

import pytest

from pipeline.errors import DeadlineExceeded
from pipeline.llm.deadline import deadline, with_timeouts


def test_an_inner_clock_pauses_the_outer_one() -> None:
    async def three_agents() -> str:
        async with deadline(0.3):
            for _ in range(3):
                async with deadline(0.3):
                    await asyncio.sleep(0.2)
            return "done"

    assert asyncio.run(three_agents()) == "done"


def test_the_outer_clock_continues_where_it_paused() -> None:
    async def slow() -> None:
        async with deadline(0.2):
            async with deadline(5):
                await asyncio.sleep(0.3)
            await asyncio.sleep(5)

    with pytest.raises(DeadlineExceeded):
        asyncio.run(slow())


def test_the_inner_clock_still_ends_its_agent() -> None:
    async def stuck() -> None:
        async with deadline(60), deadline(0.05):
            await asyncio.sleep(5)

    with pytest.raises(DeadlineExceeded):
        asyncio.run(stuck())


def test_a_timeout_error_of_the_work_is_not_taken_for_the_clocks() -> None:
    tries = 0

    async def fail() -> None:
        nonlocal tries
        tries += 1
        raise TimeoutError("the disk")

    with pytest.raises(TimeoutError, match="the disk"):
        asyncio.run(with_timeouts(fail, 60))
    assert tries == 1, "it is not retried as if the clock had ended it"


def test_work_that_its_clock_ends_is_retried_once() -> None:
    tries = 0

    async def stuck() -> None:
        nonlocal tries
        tries += 1
        await asyncio.sleep(5)

    with pytest.raises(DeadlineExceeded):
        asyncio.run(with_timeouts(stuck, 0.02))
    assert tries == 2
