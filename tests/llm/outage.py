"""Calls during an outage."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pipeline.errors import ProviderError


async def collect_outage_errors(call: Callable[[], Awaitable[object]]) -> list[ProviderError]:
    """Return the errors of calls in sequence, up to the one that stops the run; at most twenty."""
    raised: list[ProviderError] = []
    while len(raised) < 20 and not (raised and raised[-1].then == "stop"):
        with pytest.raises(ProviderError) as caught:
            await call()
        raised.append(caught.value)
        await asyncio.sleep(0.01)
    return raised
