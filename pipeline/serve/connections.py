"""Limits of a server's connections, and what it logs when it can accept no more.

There are limits for the number of connections, the time of a request's head, the pause between two requests, and the
time in which a client reads the next part of an answer. `bodies` limits the time and size of a body.
"""

import asyncio
import errno
import logging
import resource
import time
from collections.abc import Iterator
from typing import Any

from starlette.types import Message
from uvicorn.protocols.http.h11_impl import H11Protocol

logger = logging.getLogger(__name__)
MOST = 1024
"""Most connections. Further requests are answered with 503, which trainers retry."""
ACCEPTED = 16
"""Connections accepted at a time."""
QUEUE = 2048
"""Connections that the system queues until they are accepted."""
IDLE_SECONDS = 10
"""How long a connection stays open between two requests, and how long a client may take to send a head."""

READ_SECONDS = 30
"""How long a client may take to read the next part of an answer."""
SENT_BYTES = 256 << 10
"""The size of such a part."""


def max_connections() -> int:
    """Raise the limit of descriptors if possible, and return how many connections it allows: half of it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < 4 * MOST:
        soft = 4 * MOST if hard == resource.RLIM_INFINITY else min(4 * MOST, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, soft // 2)


class ClientTimeouts(H11Protocol):
    """Closes a connection whose client is late with the head of its next request, or with reading an answer.

    uvicorn limits only the pause after an answer. So a client that sends a byte now and then, or nothing, would keep
    its connection forever, and a thousand such clients would lock all others out. An answer that nobody reads stays in
    memory, 20 MB for a large batch.
    """

    _head_timer: asyncio.TimerHandle | None = None
    _read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._time_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._time_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        # `close` would wait until everything is read.
        self._read_timer = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_read_timer()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def _time_head(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_head_timer()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(IDLE_SECONDS, self.transport.close)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def split_message(message: Message) -> Iterator[Message]:
    """Split a message of an answer, so that a client that reads slowly but steadily is never late."""
    body = message.get("body", b"")
    last = max(0, len(body) - 1) // SENT_BYTES * SENT_BYTES
    for start in range(0, last, SENT_BYTES):
        yield {**message, "body": body[start : start + SENT_BYTES], "more_body": True}
    yield {**message, "body": body[last:]} if last else message


class Exhaustion:
    """Logs one line a minute, instead of asyncio's traceback for each connection without a descriptor."""

    def __init__(self) -> None:
        self._logged = -60.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)):
            loop.default_exception_handler(context)
        elif time.monotonic() - self._logged >= 60:
            self._logged = time.monotonic()
            logger.warning("no more connections can be accepted: %s; raise the limit (ulimit -n)", error.strerror)
