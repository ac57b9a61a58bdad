"""Whose clock runs: an agent's own, not that of the work around it."""

import asyncio

import pytest

from pipeline.llm.deadline import deadline


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

    with pytest.raises(TimeoutError):
        asyncio.run(slow())


def test_the_clock_within_still_ends_its_agent() -> None:
    async def stuck() -> None:
        async with deadline(60), deadline(0.05):
            await asyncio.sleep(5)

    with pytest.raises(TimeoutError):
        asyncio.run(stuck())
