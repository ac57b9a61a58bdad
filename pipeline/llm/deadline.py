"""The clock of one agent, which stands still while an endpoint is busy or down.

Waiting says nothing about a question: only the time of the tries that were answered counts. The clock is found through
the context of the running task, so that a client needs to know nothing of agents.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

from pipeline.errors import DeadlineExceeded

T = TypeVar("T")


class _Clock:
    """A timeout that several calls may hold up at once."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._left: float | None = None
        self._holders = 0

    def stop(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._holders and (when := self._timeout.when()) is not None:
            self._left = when - now
            self._move(None)
        self._holders += 1

    def go(self, used: float) -> None:
        self._holders -= 1
        if self._left is not None:
            self._left -= used
            if not self._holders:
                self._move(asyncio.get_running_loop().time() + self._left)

    def _move(self, when: float | None) -> None:
        # Its body has ended, or is being cancelled, while a call that others wait for goes on.
        with suppress(RuntimeError):
            self._timeout.reschedule(when)


_clock: ContextVar[_Clock | None] = ContextVar("clock", default=None)


@asynccontextmanager
async def deadline(seconds: float) -> AsyncIterator[None]:
    """`asyncio.timeout`, less the time that the calls of the body stood waiting.

    Within another one it holds that up: an agent that is many agents, one after another, is timed by theirs. Raises
    DeadlineExceeded at its end; a TimeoutError of the body passes through as it is.
    """
    around = _clock.get()
    if around:
        around.stop()
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
    finally:
        if around:
            around.go(0.0)


async def in_time(start: Callable[[], Awaitable[T]], seconds: float) -> T:
    """What its clock ended is tried once more, then raises DeadlineExceeded: a slow server says nothing about a
    question."""
    with suppress(DeadlineExceeded):
        async with deadline(seconds):
            return await start()
    async with deadline(seconds):
        return await start()


class Held:
    """`used` is what the clock is charged with in the end."""

    used: float = 0.0


@contextmanager
def held() -> Iterator[Held]:
    """The clock stands still for the body."""
    clock, time = _clock.get(), Held()
    if clock is None:
        yield time
        return
    clock.stop()
    try:
        yield time
    finally:
        clock.go(time.used)
