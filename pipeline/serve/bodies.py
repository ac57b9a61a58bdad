"""The bodies of requests, which together stay within a bound of bytes from their arrival to their answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOST_BYTES = 16 << 20
"""Of one request."""
MOST_TOGETHER = 4 * MOST_BYTES
SECONDS = 30.0
"""For a body to arrive."""


class Refused(Exception):
    """A request that is not answered; the text is one line for whoever asked."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


class Bodies:
    """Where there is no room, the body that has been arriving longest gives way: honest ones take no time."""

    def __init__(self) -> None:
        self._bytes = 0
        self._arriving: dict[asyncio.Timeout, bytearray] = {}

    @asynccontextmanager
    async def arrived(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The whole body, whose room is taken until the block is left. Raises Refused."""
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
                        raise Refused(413, f"a request may have {MOST_BYTES >> 20} MiB")
                    self._make_room(clock)
            if clock not in self._arriving:  # it gave way with its last chunk
                raise TimeoutError
        except TimeoutError:
            raise Refused(
                408, f"the request did not arrive within {SECONDS:.0f} s, or others needed its room"
            ) from None
        finally:
            self._arriving.pop(clock, None)

    def _make_room(self, ours: asyncio.Timeout) -> None:
        while self._bytes > MOST_TOGETHER:
            oldest = next(iter(self._arriving), ours)
            if oldest is ours:
                raise Refused(503, "too much is being sent at once; try again")
            raw = self._arriving.pop(oldest)
            self._bytes -= len(raw)
            raw.clear()
            oldest.reschedule(asyncio.get_running_loop().time())
