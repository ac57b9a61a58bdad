"""How many calls a second the cache takes: `python -m bench.cache [--processes 4] [--calls 5000] [--bytes 12000]`.

Each process asks for so many answers through `Cached`, none of which is there, from a model that answers at once; a
request has a prompt of so many bytes. All write into one file, as runs of one output folder and the workers of one
machine do. Then all is asked for again, and found.
"""

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.common import table
from pipeline.llm.base import Completion, Request
from pipeline.llm.cached import Cached
from pipeline.store.cache import Cache
from pipeline.types import Message, Usage

AT_ONCE = 32
ANSWER = (
    "A sentence of an answer that a model has written, of about a hundred and fifty characters with its figures. " * 4
)


class Took(NamedTuple):
    """Of one process."""

    seconds: float
    cpu: float


class Instant:
    """Answers at once."""

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        return Completion(message=Message(role="assistant", content=ANSWER), finish="stop", usage=Usage())


async def ask(path: Path, number: int, calls: int, size: int) -> tuple[int, Took]:
    """How many answers had to be made, and what it took."""
    model, cache = Instant(), Cache(path)
    llm, room = Cached(model, cache), asyncio.Semaphore(AT_ONCE)

    async def one(call: int) -> None:
        async with room:
            prompt = f"{number} {call} " + "passages " * (size // 9)
            await llm.complete(Request(model="m", messages=(Message(role="user", content=prompt),)))

    began, before = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(one, range(calls)))
    took = Took(time.perf_counter() - began, time.process_time() - before)
    cache.close()
    return model.calls, took


def process(path: Path, number: int, calls: int, size: int) -> tuple[int, Took]:
    return asyncio.run(ask(path, number, calls, size))


def measure(processes: int, calls: int, size: int, home: Path) -> dict[str, dict[str, float]]:
    """Raises SystemExit where an answer was lost."""
    found = {}
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for name, expected in (("written", calls), ("read", 0)):
            asked = [(home / "cache.sqlite", number, calls, size) for number in range(processes)]
            ends = pool.starmap(process, asked)
            if [made for made, _ in ends] != [expected] * processes:
                raise SystemExit(f"{name}: {[made for made, _ in ends]} answers were made, not {expected} by each")
            cpu = sum(took.cpu for _, took in ends) / (processes * calls)
            found[name] = {
                "calls a second": processes * calls / max(took.seconds for _, took in ends), "CPU ms": 1000 * cpu,
            }  # fmt: skip
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--calls", type=int, default=5000, help="of each process")
    parser.add_argument("--bytes", type=int, default=12_000, help="of a prompt")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        found = measure(given.processes, given.calls, given.bytes, Path(home))
    if given.json:
        print(json.dumps(found))
        return
    print(
        table(("answers", *found["read"]), [(name, *(f"{v:.2f}" for v in one.values())) for name, one in found.items()])
    )


if __name__ == "__main__":
    main()
