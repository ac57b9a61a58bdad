"""Ctrl-C and SIGTERM: the first ends the work in order, the second, or a few seconds, ends the process.

The journal is whole at every moment, so that ending at once loses no more than the seeds in flight.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE = 3.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Caught:
    """`signal` is 0 until one came."""

    signal: int = 0


@contextmanager
def cancelling(task: asyncio.Task[None], line: str) -> Iterator[Caught]:
    """While entered, a signal cancels `task`; `line` is said where the process must be ended by force.

    Signals belong to the main thread: elsewhere nothing is caught, and whoever owns that thread cancels the task.
    """
    caught = Caught()
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    loop = asyncio.get_running_loop()

    def force() -> None:
        os.write(2, f"\ndigsite: {line}\n".encode())
        os._exit(128 + caught.signal)

    def handle(number: int, _: FrameType | None) -> None:
        if caught.signal:
            force()
        caught.signal = number
        timer.start()
        loop.call_soon_threadsafe(task.cancel)

    timer = threading.Timer(GRACE, force)
    timer.daemon = True
    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield caught
    finally:
        for number, old in before.items():
            signal.signal(number, old)
        timer.cancel()
