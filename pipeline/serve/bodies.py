"""The bodies of requests, which together stay within a bound of bytes from their arrival to their answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import HTTPException

MOST_BYTES = 16 << 20
"""The largest body of one request."""
MOST_TOGETHER = 4 * MOST_BYTES
SECONDS = 30.0
"""The time within which a body must arrive."""


class Bodies:
    """All bodies in progress. Where there is no room, the one that has been arriving longest is refused."""

    def __init__(self) -> None:
        self._bytes = 0
        self._arriving: dict[asyncio.Timeout, bytearray] = {}

    @asynccontextmanager
    async def arrived(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The whole body, whose room is taken until the block is left. Raises HTTPException."""
        raw = bytearray()
        try:
            await self._read(stream, raw)
            yield bytes(raw)
        finally:
            self._bytes -= len(raw)

    async def _read(self, stream: AsyncIterator[bytes], raw: bytearray) -> None:
        clock = asyncio.timeout(SECONDS)
        try:
            async with clock:
                self._arriving[clock] = raw
                async for chunk in stream:
                    raw += chunk
                    self._bytes += len(chunk)
                    if len(raw) > MOST_BYTES:
                        raise HTTPException(413, f"a request may have {MOST_BYTES >> 20} MiB")
                    self._make_room(clock)
            if clock not in self._arriving:  # its room was taken with its last chunk
                raise TimeoutError
        except TimeoutError:
            line = f"the request did not arrive within {SECONDS:.0f} s, or others needed its room"
            raise HTTPException(408, line) from None
        finally:
            self._arriving.pop(clock, None)

    def _make_room(self, ours: asyncio.Timeout) -> None:
        while self._bytes > MOST_TOGETHER:
            oldest = next(iter(self._arriving), ours)
            if oldest is ours:
                raise HTTPException(503, "too much is being sent at once; try again")
            raw = self._arriving.pop(oldest)
            self._bytes -= len(raw)
            raw.clear()
            oldest.reschedule(asyncio.get_running_loop().time())
