"""The bodies of requests, whose total size is limited from their arrival until they are answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import HTTPException

MOST_BYTES = 16 << 20
"""The largest body of one request."""
MOST_TOGETHER = 4 * MOST_BYTES
MOST_DISCARDED = 8 * MOST_BYTES
"""Most bytes read of a refused body. A client that is still sending sees a reset connection instead of an answer."""
SECONDS = 30.0
"""The time within which a body must arrive."""


class Bodies:
    """All bodies in progress. If there is no room, the one that has been arriving for the longest time is refused."""

    def __init__(self) -> None:
        self._bytes = 0
        self._arriving: dict[asyncio.Timeout, bytearray] = {}

    @asynccontextmanager
    async def receive(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Read a body, and reserve its room until the block ends. Raises HTTPException."""
        raw = bytearray()
        try:
            await self._read(stream, raw)
            yield bytes(raw)
        finally:
            self._bytes -= len(raw)

    async def _read(self, stream: AsyncIterator[bytes], raw: bytearray) -> None:
        clock, size = asyncio.timeout(SECONDS), 0
        try:
            async with clock:
                self._arriving[clock] = raw
                async for chunk in stream:
                    size += len(chunk)
                    if size > MOST_BYTES:
                        break
                    raw += chunk
                    self._bytes += len(chunk)
                    self._make_room(clock)
            if clock not in self._arriving:  # another body took its room at its last chunk
                raise TimeoutError
        except TimeoutError:
            line = f"the request did not arrive within {SECONDS:.0f} s, or others needed its room"
            raise HTTPException(408, line) from None
        finally:
            self._arriving.pop(clock, None)
        if size > MOST_BYTES:
            self._bytes -= len(raw)
            raw.clear()
            await discard(stream)
            raise HTTPException(413, f"a request may have {MOST_BYTES >> 20} MiB")

    def _make_room(self, current: asyncio.Timeout) -> None:
        while self._bytes > MOST_TOGETHER:
            oldest = next(iter(self._arriving), current)
            if oldest is current:
                raise HTTPException(503, "too much is being sent at once; try again")
            raw = self._arriving.pop(oldest)
            self._bytes -= len(raw)
            raw.clear()
            oldest.reschedule(asyncio.get_running_loop().time())


async def discard(stream: AsyncIterator[bytes]) -> None:
    """Read the body of a refused request, within limits of size and time."""
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            async for chunk in stream:
                size += len(chunk)
                if size > MOST_DISCARDED:
                    return
