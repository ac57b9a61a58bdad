"""Ctrl-C and SIGTERM: a run ends in order, and the process within two seconds, whatever it is doing.

The journal is complete at every moment, and half-built files have temporary names. So a forced end loses no more than
the seeds in flight.
"""

import asyncio
import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE = 1.5
"""Seconds from a signal until the process is ended by force. The rest of two seconds is for a busy machine."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LINE = "stopped by force; finished work is kept, and the same command continues from there"


class Caught:
    """The signal that came, or 0."""

    signal: int = 0


@contextmanager
def ended_by_force() -> Iterator[None]:
    """While entered, end the process by force `GRACE` seconds after a first signal, or at once after a second.

    The signals' handlers are left as they are. Python runs those in the main thread only, between two instructions,
    where a call into C may keep them waiting. A thread reads the signals from a pipe instead. Once a signal has come,
    leaving the body does not stop the clock, because the end of Python itself waits for threads.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    threading.Thread(target=_watch, args=(reader,), name="signals", daemon=True).start()
    before = signal.set_wakeup_fd(writer)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)


def _watch(reader: int) -> None:
    received = os.read(reader, 1)
    while received and received[0] not in _SIGNALS:
        received = os.read(reader, 1)
    if not received:
        os.close(reader)
        return
    deadline = time.monotonic() + GRACE
    if select.select([reader], [], [], GRACE)[0] and not os.read(reader, 1):  # the body was left, which says why
        time.sleep(max(0.0, deadline - time.monotonic()))
    else:
        os.write(2, f"digsite: {_LINE}\n".encode())
    os._exit(128 + received[0])


@contextmanager
def cancelling(task: asyncio.Task[None]) -> Iterator[Caught]:
    """While entered, cancel `task` at a first signal; a second one goes to the earlier handler.

    Signals belong to the main thread. In another thread nothing is caught, and the thread's owner cancels the task.
    """
    caught = Caught()
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    loop = asyncio.get_running_loop()

    def handle(number: int, _: FrameType | None) -> None:
        caught.signal = number
        restore()
        loop.call_soon_threadsafe(task.cancel)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield caught
    finally:
        restore()
