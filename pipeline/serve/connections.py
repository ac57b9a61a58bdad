"""How many connections a server holds, and what it logs when it can accept no more.

The time and size of a body have limits (`bodies`), and so has the pause between two requests. A proxy in front of the
server drops clients that never send a request, send its head slowly, or never read an answer.
"""

import asyncio
import errno
import logging
import resource
import time
from typing import Any

logger = logging.getLogger(__name__)
MOST = 1024
"""Connections at once; requests beyond that are answered 503, which trainers retry."""
ACCEPTED = 16
"""Connections accepted in one go."""
QUEUE = 2048
"""Connections that the system queues until they are accepted."""
IDLE_SECONDS = 10
"""The time that a connection stays open between two requests."""


def most() -> int:
    """How many connections the limit of descriptors allows: half of it, after raising it where possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < 4 * MOST:
        soft = 4 * MOST if hard == resource.RLIM_INFINITY else min(4 * MOST, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MOST if soft == resource.RLIM_INFINITY else min(MOST, soft // 2)


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
