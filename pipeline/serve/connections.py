"""The connections of a server: how many it holds, and how long a client may keep it waiting.

A client that never finishes a request, or never reads an answer, occupies a descriptor and memory. So each step has a
deadline, and where there are too many connections or unread answers, the one that has been waited for longest is
dropped: prompt clients are answered whatever slow ones do.
"""

import asyncio
import errno
import logging
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

logger = logging.getLogger(__name__)
MOST = 1024
"""Connections at once; requests beyond that are answered 503, which trainers retry."""
ACCEPTED = 16
"""Connections accepted in one go: several such batches are open before the first can be dropped."""
QUEUE = 2048
"""Connections that the system queues until they are accepted."""
HEAD_SECONDS = 10.0
"""The time for the head of a request, from the start of the connection or the end of the last answer."""
ANSWER_SECONDS = 120.0
"""The time in which a client must read an answer."""
MOST_UNREAD = 1 << 30
"""The bytes of all answers that clients have not read yet."""


def most() -> int:
    """How many connections the limit of descriptors allows: half of it, after raising it where possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < 4 * MOST:
        soft = 4 * MOST if hard == resource.RLIM_INFINITY else min(4 * MOST, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, soft // 2)


class Connection(H11Protocol):
    _since = 0.0
    _unread_since = 0.0
    _deadline: asyncio.TimerHandle | None = None
    _answer_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._drop_oldest(lambda other: other.incomplete, lambda other: other._since)

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop(self._deadline)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # otherwise the next request has arrived already
            self._await_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_since = self.loop.time()
        self._answer_deadline = self.loop.call_later(ANSWER_SECONDS, self.transport.abort)
        if sum(other.transport.get_write_buffer_size() for other in self._all()) > MOST_UNREAD:
            self._drop_oldest(lambda other: bool(other._unread_since), lambda other: other._unread_since)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread_since = 0.0
        self._stop(self._answer_deadline)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop(self._deadline)
        self._stop(self._answer_deadline)

    def shutdown(self) -> None:
        if self.cycle is None or self.cycle.response_complete or not self.cycle.more_body:
            super().shutdown()
        else:  # nobody would read the rest of its request
            self.transport.abort()

    @property
    def incomplete(self) -> bool:
        """Whether it waits for a request, or for the rest of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _await_head(self) -> None:
        self._since = self.loop.time()
        self._stop(self._deadline)
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _drop_oldest(self, which: Callable[["Connection"], bool], since: Callable[["Connection"], float]) -> None:
        others = [other for other in self._all() if other is not self and which(other)]
        if others:
            oldest = min(others, key=since)
            oldest.transport.abort()
            # uvicorn forgets it in the next turn of the loop only; until then it would be dropped again.
            self.connections.discard(oldest)

    def _all(self) -> Iterator["Connection"]:
        return (other for other in self.connections if isinstance(other, Connection))

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()


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
