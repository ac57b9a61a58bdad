"""The deadline of one agent, whose clock is paused while an endpoint is busy or down.

Waiting says nothing about a question: only the time of calls that were answered counts. The clock is in a context
variable, so that a client does not depend on agents.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from pipeline.errors import DeadlineExceeded

T = TypeVar("T")


class _Clock:
    """A timeout that several calls may pause at once."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._left: float | None = None
        self._paused_by = 0

    def pause(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._paused_by and (when := self._timeout.when()) is not None:
            self._left = when - now
            self._move(None)
        self._paused_by += 1

    def resume(self, used: float) -> None:
        self._paused_by -= 1
        if self._left is not None:
            self._left -= used
            if not self._paused_by:
                self._move(asyncio.get_running_loop().time() + self._left)

    def _move(self, when: float | None) -> None:
        # The body has ended, or is being cancelled, while a call that others wait for continues.
        with suppress(RuntimeError):
            self._timeout.reschedule(when)


_clock: ContextVar[_Clock | None] = ContextVar("clock", default=None)


@asynccontextmanager
async def deadline(seconds: float | None) -> AsyncIterator[None]:
    """`asyncio.timeout`, without the time that the calls of the body spent waiting; without `seconds` no limit.

    A deadline within another pauses it: an agent that runs other agents is timed by theirs. Raises DeadlineExceeded at
    its end; a TimeoutError of the body passes through unchanged.
    """
    with pause_clock():
        try:
            async with asyncio.timeout(seconds) as timeout:
                token = _clock.set(_Clock(timeout))
                try:
                    yield
                finally:
                    _clock.reset(token)
        except TimeoutError as error:
            if not timeout.expired():
                raise
            raise DeadlineExceeded(f"not done within {seconds:g} s") from error


async def with_timeouts(start: Callable[[], Awaitable[T]], seconds: float | None) -> T:
    """The result within so many seconds, where there is a limit, with one more try: a slow server says nothing about a
    question. Raises DeadlineExceeded."""
    with suppress(DeadlineExceeded):
        async with deadline(seconds):
            return await start()
    async with deadline(seconds):
        return await start()


@dataclass
class Pause:
    """`used`: the seconds that the clock is charged for all the same."""

    used: float = 0.0


@contextmanager
def pause_clock() -> Iterator[Pause]:
    """Pause the deadline of the running agent, if it has one, for the body."""
    clock, pause = _clock.get(), Pause()
    if clock:
        clock.pause()
    try:
        yield pause
    finally:
        if clock:
            clock.resume(pause.used)
