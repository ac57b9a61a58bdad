"""How many connections a server holds, and what it logs when it can accept no more.

The time and size of a body have limits (`bodies`), and so have the time of a head and the pause between two requests. A
proxy in front of the server drops clients that never read an answer.
"""

import asyncio
import errno
import logging
import resource
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

logger = logging.getLogger(__name__)
MOST = 1024
"""Connections at once; requests beyond that are answered 503, which trainers retry."""
ACCEPTED = 16
"""Connections accepted in one go."""
QUEUE = 2048
"""Connections that the system queues until they are accepted."""
IDLE_SECONDS = 10
"""The time that a connection stays open between two requests, and that a client has to send the head of one."""


def most() -> int:
    """How many connections the limit of descriptors allows: half of it, after raising it where possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < 4 * MOST:
        soft = 4 * MOST if hard == resource.RLIM_INFINITY else min(4 * MOST, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, soft // 2)


class HeadTimeout(H11Protocol):
    """Closes a connection whose client has not sent the head of its next request in time.

    uvicorn limits only the pause after an answer. So a client that sends a byte now and then, or nothing at all, would
    keep its connection for ever, and a thousand of them would keep all others out.
    """

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._time_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._time_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _time_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(IDLE_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


class Exhaustion:
    """Logs one line a minute where asyncio would log a traceback for every connection without a descriptor."""

    def __init__(self) -> None:
        self._logged = -60.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)):
            loop.default_exception_handler(context)
        elif time.monotonic() - self._logged >= 60:
            self._logged = time.monotonic()
            logger.warning("no more connections can be accepted: %s; raise the limit (ulimit -n)", error.strerror)
