"""Many pieces of paid work at once, until the first error or the end of a budget."""

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

    All work that has begun ends before the first error is raised, so that what was paid for is kept. Once a budget is
    used up, nothing more begins.

    Args:
        items: what to work on.
        work: the work on one item.
        at_once: how many items are worked on at the same time.
        progress: called with the number of items that have ended.
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
