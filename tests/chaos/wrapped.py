"""The command line over a system that fails it: `python -m tests.chaos.wrapped FAULT ARGUMENT generate ...`.

    count FILE        notes how often each operation came, for a `kill` to choose from
    kill OPERATION:N  kills the process, as `kill -9` would, at the N-th operation
    clock SEED        lets the wall clock jump by up to a day, forwards and backwards, many times a second
    audit FILE        notes each file that is opened, each connection and each process that is started
    block SECONDS     lets the demo model hold up the whole process

The operations are those by which the product changes the disk, so that nothing in the product has to know of this.
"""

import atexit
import datetime as dt
import importlib
import os
import pkgutil
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import orjson

OPERATIONS = (
    "before write", "within write", "after write", "before fsync", "after fsync",
    "before rename", "after rename", "before cache", "after cache",
)  # fmt: skip
JUMPS = (86_400.0, -86_400.0, -3_600.0, 3_600.0, 1.0, -1.0)
"""A day, an hour as at the change to and from summer time, and a second, in seconds."""
_passed: Counter[str] = Counter()
_wanted: tuple[str, int] = ("", 0)


def _count_operation(operation: str) -> bool:
    """Count an operation. Return whether the process has to die here."""
    _passed[operation] += 1
    return (operation, _passed[operation]) == _wanted


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it is dead")


def _wrap(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        if _count_operation(f"before {name}"):
            _die()
        result = real(*arguments, **options)
        if _count_operation(f"after {name}"):
            _die()
        return result

    return call


def _wrap_write(real: Callable[[int, bytes], int]) -> Callable[[int, bytes], int]:
    counted_write = _wrap("write", real)

    def write(handle: int, data: bytes) -> int:
        if handle > 2 and _count_operation("within write"):
            real(handle, data[: len(data) // 2])
            _die()
        return counted_write(handle, data) if handle > 2 else real(handle, data)

    return write


def watch_disk() -> None:
    from pipeline.store.cache import Cache

    os.write = _wrap_write(os.write)  # type: ignore[assignment]
    os.fsync = _wrap("fsync", os.fsync)
    os.rename, os.replace = _wrap("rename", os.rename), _wrap("rename", os.replace)
    Cache.put = _wrap("cache", Cache.put)  # type: ignore[method-assign]


def count(file: str) -> None:
    watch_disk()
    atexit.register(lambda: Path(file).write_bytes(orjson.dumps(_passed)))


def kill(point: str) -> None:
    global _wanted  # noqa: PLW0603 - one process, one death
    operation, _, number = point.rpartition(":")
    _wanted = operation, int(number)
    watch_disk()


def _modules_with_a_clock() -> list[Any]:
    """Return all modules of the product that import the class `datetime`."""
    import pipeline

    # Files that are copied out with an export import packages that the product does not have.
    left_out = ("pipeline.reward", "pipeline.exports.environments.")
    names = [
        info.name
        for info in pkgutil.walk_packages(pipeline.__path__, "pipeline.")
        if not info.name.startswith(left_out)
    ]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    with_clock = [module for module in modules if getattr(module, "datetime", None) is dt.datetime]
    assert with_clock, "nothing in the product reads the clock any more"
    return with_clock


def clock(seed: str) -> None:
    draw, offset, real, real_ns = random.Random(int(seed)), [0.0], time.time, time.time_ns

    def jump() -> None:
        while True:
            time.sleep(0.05)
            offset[0] = draw.choice([0.0, offset[0] + draw.choice(JUMPS)])

    class Jumping(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> "Jumping":
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls) -> "Jumping":
            return cls.fromtimestamp(time.time(), dt.UTC).replace(tzinfo=None)

    time.time = lambda: real() + offset[0]
    time.time_ns = lambda: real_ns() + int(offset[0] * 1e9)
    # Everywhere else C code counts on the class as it is.
    for module in _modules_with_a_clock():
        module.datetime = Jumping
    threading.Thread(target=jump, daemon=True).start()


def audit(file: str) -> None:
    """Record Python's audit events, which no code can bypass."""
    handle, recorded_events = (
        os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        ("open", "socket.connect", "os.system"),
    )

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in recorded_events or event == "subprocess.Popen":
            what = arguments[1] if event == "socket.connect" else arguments[0]
            os.write(handle, orjson.dumps([event, str(what)]) + b"\n")

    sys.addaudithook(note)


def block(seconds: str) -> None:
    from pipeline.demo.role_dispatch import DemoModel

    async def complete(*_: object) -> NoReturn:
        time.sleep(float(seconds))
        raise AssertionError("it was to be ended before")

    DemoModel.complete = complete  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    {"count": count, "kill": kill, "clock": clock, "audit": audit, "block": block}[sys.argv[1]](sys.argv[2])
    from pipeline.cli import main

    main(sys.argv[3:])
