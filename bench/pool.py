"""Measure how busy four workers keep eight simulated servers, within the servers' limits.

    python -m bench.pool --seeds 10000 --limit 16 --latency 1.5

A server takes a number of calls at once and says 429 to more. It slows down with load and speeds up on prompts whose
prefix it has cached (`tests.simulated_endpoint`). Each worker runs its part of the seeds in its own process, with its
share of each server's limit; one more process runs the servers. A seed holds conversations that grow turn by turn, one
after another, as rollouts do. The run has a plan, journal, client, limits, cache and ledger, but no real corpus.

A server has one slot for each call that it takes at once. *Busy* is the share of all slots that calls held between the
first call and the start of the last seed of any worker, while there was work left to start. *Tail* is the share of all
slots of the total time that were idle after that. `calls a second` adds up all workers; if it comes near what the
machine can do, it measures the machine and not the scheduling, so choose a latency that stays below.
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

from bench.common import ROOT, format_table
from pipeline.cli.generate import SHORT
from pipeline.config import build
from pipeline.llm import ledger
from pipeline.llm.base import Request, Tool
from pipeline.run import Run, attempts, prepare
from pipeline.types import Message, Record, Seed, Status
from tests.run.fakes import FACT, RunCallbacks, corpus, record
from tests.simulated_endpoint import get_json, run_endpoints

MIN_BUSY, MAX_TAIL = 0.9, 0.05
CORPUS = "wiki"
PARAMETERS = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
TOOL = Tool(name="answer", description="Answer.", parameters=PARAMETERS)


class Figures(NamedTuple):
    """What the servers saw of one job. Times are in wall-clock seconds."""

    seeds: int
    broken: int
    """Attempts at a seed that ended in an error."""
    calls: int
    throttled: int
    busiest: int
    """The most calls that one server had at once."""
    cached: float
    """Share of the prompts whose prefix a server had cached."""
    wall: float
    latency: float
    """The mean over all calls."""
    busy: float
    tail: float

    @property
    def is_good(self) -> bool:
        return self.busy >= MIN_BUSY and self.tail <= MAX_TAIL and not self.throttled and not self.broken


def sum_in_flight(starts: list[float], ends: list[float], since: float, until: float) -> float:
    """Add up the seconds that each call was in flight between two moments."""
    return sum(max(0.0, min(end, until) - max(start, since)) for start, end in zip(starts, ends, strict=True))


def summarize(stats: list[dict[str, Any]], tries: list[attempts.Attempt], slots: int) -> Figures:
    """Compute the figures. `slots` counts those of all servers together."""
    starts = [time for server in stats for time in server["start_times"]]
    ends = [time for server in stats for time in server["end_times"]]
    first, last = min(starts), max(ends)
    last_seed = max(datetime.fromisoformat(attempt.began).timestamp() for attempt in tries)
    finished = sum(attempt.ended in set(Status) for attempt in tries)
    return Figures(
        seeds=finished,
        broken=len(tries) - finished,
        calls=len(ends),
        throttled=sum(server["throttled"] for server in stats),
        busiest=max(server["busiest"] for server in stats),
        cached=sum(server["cached"] for server in stats) / len(stats),
        wall=last - first,
        latency=sum_in_flight(starts, ends, first, last) / len(ends),
        busy=sum_in_flight(starts, ends, first, last_seed) / (slots * (last_seed - first)),
        tail=(slots * (last - last_seed) - sum_in_flight(starts, ends, last_seed, last)) / (slots * (last - first)),
    )


def run_worker(options: argparse.Namespace) -> None:
    """Run one worker's part of the seeds, as if on its own machine."""
    limits = {"concurrency": options.limit // options.workers}
    model = {"provider": "openai", "model": "m", "base_urls": options.urls.split(), "limits": limits}
    seeds = options.seeds // options.workers
    how = {"out": options.home / str(options.worker), "seeds": seeds}
    values = {"corpus": {"name": CORPUS}, "seed": options.worker, "models": {"default": model}, "runtime": how}
    config = build(values=values)
    llm = prepare.model(config)

    async def run_seed(seed: Seed) -> Record:
        rng = random.Random(seed.key)
        for rollout in range(rng.randint(1, 2)):
            opening = f"{seed.key} {rollout}: {FACT * 3}"
            messages = [Message(role="system", content=FACT * 6), Message(role="user", content=opening)]
            for turn in range(rng.randint(1, 3)):
                ledger.enter(f"round {rollout}")
                answer = await llm.complete(Request(model="m", messages=tuple(messages), tools=(TOOL,), sample=rollout))
                call = answer.message.tool_calls[0]
                output = Message(role="tool", content=f"{turn} {FACT * 5}", tool_call_id=call.id, name=call.name)
                messages += [answer.message, output]
        return record(seed)

    with Run(config, corpus(seeds)) as run:
        asyncio.run(run.execute(run_seed, RunCallbacks()))


def main(options: argparse.Namespace) -> bool:
    behaviours = [f"loaded:{options.limit}"] * options.servers
    with tempfile.TemporaryDirectory() as home, run_endpoints(options.latency, *behaviours) as line:
        arguments = [f"--{name}={getattr(options, name)}" for name in ("seeds", "limit", "workers")]
        command = [sys.executable, "-m", "bench.pool", *arguments, "--urls", line, "--home", home]
        numbers = range(1, options.workers + 1)
        workers = [subprocess.Popen([*command, "--worker", str(number)], cwd=ROOT) for number in numbers]
        if any([worker.wait() not in (0, SHORT) for worker in workers]):
            raise SystemExit("a worker failed")
        runs = [path.parent for path in Path(home).glob(f"*/{CORPUS}/*/run.json") if not path.parent.is_symlink()]
        tries = [attempt for run in runs for attempt in attempts.read(run)]
        figures = summarize([get_json(url, "stats") for url in line.split()], tries, options.limit * options.servers)
    values = figures._asdict() | {"calls a second": figures.calls / figures.wall}
    rows = [(name, f"{value:.3f}" if isinstance(value, float) else f"{value:,}") for name, value in values.items()]
    print(format_table(("figure", ""), rows))
    return figures.is_good and figures.busiest <= options.limit


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000, help="of all workers together")
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--limit", type=int, default=32, help="calls that a server takes at once")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds of a call when a server is idle")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--urls", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        run_worker(options)
    else:
        sys.exit(0 if main(options) else 1)
