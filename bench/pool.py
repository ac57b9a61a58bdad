"""Eight simulated servers behind four workers: how busy are they kept, and are their limits kept?

    python -m bench.pool --seeds 10000 --limit 16 --latency 1.5

Each server takes a number of calls at once and says 429 to more; it gets slower the more it has, and is quicker with
prompts whose beginning it knows (`bench.loaded`). Each worker runs its part of the seeds in a process of its own, with
its share of each server's limit; the servers are one process, apart from them. A seed asks in conversations that grow
turn by turn, one after another, as rollouts are: a run as any other, with its plan, journal, client, limits, cache and
ledger, but without a corpus.

A server has as many slots as it takes calls at once. *Busy* is the share of all slots that calls held, over the time
from the first call until the last seed of any worker began: while there was work left to begin. *Tail* is the share of
all slots of the whole time that were idle after that. `calls a second` are those of all workers together; where they
come near what the machine can do, that is measured and not the scheduling, so choose a latency that stays below.
"""

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from bench.common import table
from bench.endpoint import ROOT, get_json, run_endpoints
from bench.journals import Quiet, Source
from pipeline.cli.generate import SHORT
from pipeline.config import build
from pipeline.llm import ledger
from pipeline.llm.base import Request, Tool
from pipeline.run import Run, attempts, prepare
from pipeline.types import Message, Record, Seed, Status
from tests.run.fakes import FACT, record

WANTED, MOST_TAIL = 0.9, 0.05
CORPUS = "wiki"
TOOL = Tool(
    name="answer",
    description="Answer.",
    parameters={"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
)


class Measured(NamedTuple):
    """What the servers saw of one job. Seconds by the clock."""

    seeds: int
    broken: int
    """Tries at a seed that ended in an error."""
    calls: int
    throttled: int
    busiest: int
    """The most calls that one server had at once."""
    cached: float
    """Share of the prompts whose beginning a server knew."""
    wall: float
    latency: float
    """The mean of all calls."""
    busy: float
    tail: float

    @property
    def good(self) -> bool:
        return self.busy >= WANTED and self.tail <= MOST_TAIL and not self.throttled and not self.broken


def in_flight(begun: list[float], ended: list[float], since: float, until: float) -> float:
    """Seconds that calls were in flight between two moments, summed over the calls."""
    spans = zip(begun, ended, strict=True)
    return sum(max(0.0, min(end, until) - max(begin, since)) for begin, end in spans)


def summarize(stats: list[dict[str, Any]], tries: list[attempts.Attempt], slots: int) -> Measured:
    """`slots` are those of all servers together."""
    begun = [time for one in stats for time in one["begun"]]
    ended = [time for one in stats for time in one["times"]]
    first, last = min(begun), max(ended)
    no_more = max(datetime.fromisoformat(one.began).timestamp() for one in tries)
    ends = [one.ended for one in tries]
    return Measured(
        seeds=sum(end in set(Status) for end in ends),
        broken=sum(end not in set(Status) for end in ends),
        calls=len(ended),
        throttled=sum(one["throttled"] for one in stats),
        busiest=max(one["busiest"] for one in stats),
        cached=sum(one["cached"] for one in stats) / len(stats),
        wall=last - first,
        latency=in_flight(begun, ended, first, last) / len(ended),
        busy=in_flight(begun, ended, first, no_more) / (slots * (no_more - first)),
        tail=(slots * (last - no_more) - in_flight(begun, ended, no_more, last)) / (slots * (last - first)),
    )


def work(options: argparse.Namespace) -> None:
    """What a worker does: its part of the run, as on a machine of its own."""
    limits = {"concurrency": options.limit // options.workers}
    model = {"provider": "openai", "model": "m", "base_urls": options.urls.split(), "limits": limits}
    seeds = options.seeds // options.workers
    how = {"out": options.home / str(options.worker), "seeds": seeds}
    config = build(
        values={"corpus": {"name": CORPUS}, "seed": options.worker, "models": {"default": model}, "runtime": how}
    )
    llm = prepare.model(config)

    async def run_seed(seed: Seed) -> Record:
        chance = random.Random(seed.key)
        for rollout in range(chance.randint(1, 2)):
            opening = f"{seed.key} {rollout}: {FACT * 3}"
            messages = [Message(role="system", content=FACT * 6), Message(role="user", content=opening)]
            for turn in range(chance.randint(1, 3)):
                ledger.enter(f"round {rollout}")
                answer = await llm.complete(Request(model="m", messages=tuple(messages), tools=(TOOL,), sample=rollout))
                call = answer.message.tool_calls[0]
                found = Message(role="tool", content=f"{turn} {FACT * 5}", tool_call_id=call.id, name=call.name)
                messages += [answer.message, found]
        return record(seed)

    with Run(config, Source(seeds)) as run:
        asyncio.run(run.execute(run_seed, Quiet()))


def main(options: argparse.Namespace) -> bool:
    """All workers, from their start to their last call. What they prepare first is not counted: no call is made yet."""
    fates = [f"loaded:{options.limit}"] * options.servers
    with tempfile.TemporaryDirectory() as home, run_endpoints(options.latency, *fates) as line:
        given = [f"--{name}={getattr(options, name)}" for name in ("seeds", "limit", "workers")]
        command = [sys.executable, "-m", "bench.pool", *given, "--urls", line, "--home", home]
        numbers = range(1, options.workers + 1)
        workers = [subprocess.Popen([*command, "--worker", str(number)], cwd=ROOT) for number in numbers]
        if any([one.wait() not in (0, SHORT) for one in workers]):
            raise SystemExit("a worker failed")
        runs = [path.parent for path in Path(home).glob(f"*/{CORPUS}/*/run.json") if not path.parent.is_symlink()]
        tries = [attempt for run in runs for attempt in attempts.read(run)]
        found = summarize([get_json(url, "stats") for url in line.split()], tries, options.limit * options.servers)
    figures = found._asdict() | {"calls a second": found.calls / found.wall}
    shown = {name: f"{one:.3f}" if isinstance(one, float) else f"{one:,}" for name, one in figures.items()}
    print(table(("figure", ""), list(shown.items())))
    return found.good and found.busiest <= options.limit


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000, help="of all workers together")
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--limit", type=int, default=32, help="calls that a server takes at once")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds of a call where a server is idle")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--urls", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given)
    else:
        sys.exit(0 if main(given) else 1)
