"""How many calls a second the cache takes: `python -m bench.cache [--processes 4] [--calls 5000] [--bytes 12000]`.

Each process asks for so many answers through `Cached`, none of which is there, from a model that answers at once; a
request has a prompt of so many bytes. All write into one file, as runs of one output folder and the workers of one
machine do. Then all is asked for again, and found.
"""

import argparse
import asyncio
import multiprocessing
import tempfile
from pathlib import Path

from bench.common import Stopwatch, table
from pipeline.llm.base import Completion, Request
from pipeline.llm.cached import Cached
from pipeline.store.cache import Cache
from pipeline.types import Message, Usage

AT_ONCE = 32
ANSWER = (
    "A sentence of an answer that a model has written, of about a hundred and fifty characters with its figures. " * 4
)


class Instant:
    """Answers at once."""

    calls = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        return Completion(message=Message(role="assistant", content=ANSWER), finish="stop", usage=Usage())


async def ask(path: Path, number: int, calls: int, size: int) -> tuple[int, Stopwatch]:
    """How many answers had to be made, and what it took."""
    model, cache = Instant(), Cache(path)
    llm, room = Cached(model, cache), asyncio.Semaphore(AT_ONCE)

    async def one(call: int) -> None:
        async with room:
            prompt = f"{number} {call} " + "passages " * (size // 9)
            await llm.complete(Request(model="m", messages=(Message(role="user", content=prompt),)))

    with Stopwatch() as took:
        await asyncio.gather(*map(one, range(calls)))
    cache.close()
    return model.calls, took


def process(path: Path, number: int, calls: int, size: int) -> tuple[int, float, float]:
    made, took = asyncio.run(ask(path, number, calls, size))
    return made, took.wall, took.cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--calls", type=int, default=5000, help="of each process")
    parser.add_argument("--bytes", type=int, default=12_000, help="of a prompt")
    given, rows = parser.parse_args(), []
    every = given.processes * given.calls
    with tempfile.TemporaryDirectory() as home, multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        asked = [(Path(home, "cache.sqlite"), number, given.calls, given.bytes) for number in range(given.processes)]
        for name, expected in (("written", given.calls), ("read", 0)):
            made, wall, cpu = zip(*pool.starmap(process, asked), strict=True)
            if any(one != expected for one in made):
                raise SystemExit(f"{name}: {made} answers were made, not {expected} by each")
            rows.append((name, f"{every / max(wall):.0f}", f"{1000 * sum(cpu) / every:.2f}"))
    print(table(("answers", "calls a second", "CPU ms"), rows))


if __name__ == "__main__":
    main()
