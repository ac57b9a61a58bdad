"""Concurrent paid work, until the first error or the end of a budget."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from pipeline.errors import BudgetExceeded

Item = TypeVar("Item")
Result = TypeVar("Result")


async def run_concurrently(
    items: Iterable[Item], work: Callable[[Item], Awaitable[Result]], at_once: int, progress: Callable[[int], None]
) -> list[Result]:
    """Return the results of `work` on all items, in their order.

    Work that has begun is finished before the first error is raised, so that nothing paid for is lost. Once a budget is
    used up, no more work begins.

    Args:
        items: The inputs.
        work: The work on one item.
        at_once: How many items are worked on at the same time.
        progress: Called with the number of items that have ended.
    """
    gate, ended = asyncio.Semaphore(at_once), 0
    used_up: BudgetExceeded | None = None

    async def work_on(item: Item) -> Result:
        nonlocal ended, used_up
        async with gate:
            if used_up:
                raise used_up
            try:
                result = await work(item)
            except BudgetExceeded as error:
                used_up = error
                raise
        ended += 1
        progress(ended)
        return result

    results = []
    for result in await asyncio.gather(*map(work_on, items), return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return results
