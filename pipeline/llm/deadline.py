"""The deadline of one agent, whose clock is paused while an endpoint is busy or down.

Waiting says nothing about a question, so only the time of answered calls counts. The clock is in a context variable, so
that clients need not know about agents.
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
        self._remaining: float | None = None
        self._pauses = 0

    def pause(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._pauses and (when := self._timeout.when()) is not None:
            self._remaining = when - now
            self._reschedule(None)
        self._pauses += 1

    def resume(self, used: float) -> None:
        self._pauses -= 1
        if self._remaining is not None:
            self._remaining -= used
            if not self._pauses:
                self._reschedule(asyncio.get_running_loop().time() + self._remaining)

    def _reschedule(self, when: float | None) -> None:
        # The body may have ended, or be cancelled, while a call that others wait for continues.
        with suppress(RuntimeError):
            self._timeout.reschedule(when)


_clock: ContextVar[_Clock | None] = ContextVar("clock", default=None)


@asynccontextmanager
async def deadline(seconds: float | None) -> AsyncIterator[None]:
    """Limit the body like `asyncio.timeout`, but do not count the time that its calls spend waiting.

    There is no limit if `seconds` is None. A deadline inside another pauses the outer one: while an agent runs other
    agents, only their deadlines count. Raises DeadlineExceeded; a TimeoutError of the body passes through unchanged.
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
    """Await the result within `seconds`, with one retry, since a slow server says nothing about a question.

    There is no limit if `seconds` is None. Raises DeadlineExceeded.
    """
    with suppress(DeadlineExceeded):
        async with deadline(seconds):
            return await start()
    async with deadline(seconds):
        return await start()


@dataclass
class Pause:
    used: float = 0.0
    """The seconds of the pause that count against the deadline."""


@contextmanager
def pause_clock() -> Iterator[Pause]:
    clock, pause = _clock.get(), Pause()
    if clock:
        clock.pause()
    try:
        yield pause
    finally:
        if clock:
            clock.resume(pause.used)
