"""Eight simulated servers behind four workers: how busy are they kept, and are their limits kept?

    python -m bench.pool --seeds 10000
    python -m bench.pool --seeds 200 --loop

Each server takes a number of calls at once and says 429 to more; it gets slower the more it has, and is quicker with
prompts whose beginning it knows (`bench.loaded`). Each worker runs a shard, in a process of its own, with its share of
each server's limit; the servers are one process, apart from them. A seed asks in conversations that grow turn by turn,
one after another, as rollouts are: a run as any other, with its plan, journal, client, limits, cache and ledger, but
without a corpus. With `--loop` each worker is `digsite generate --shard I/N`, whose own search and audit then share the
processors with the calls.

A server has as many slots as it takes calls at once. *Busy* is the share of all slots that calls held, over the time
from the first call until the last seed of any worker began: while there was work left to begin. *Tail* is the share of
all slots of the whole time that were idle after that. `calls a second` are those of all workers together; where they
come near what the machine can do, that is measured and not the scheduling, so choose a latency that stays below.
"""

import argparse
import asyncio
import math
import random
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bench.common import table
from bench.endpoint import ROOT, simulated, told
from bench.journals import Quiet, Source
from pipeline.cli.generate import SHORT
from pipeline.config import RunConfig, build
from pipeline.errors import Interrupted
from pipeline.llm import ledger
from pipeline.llm.base import Request, Tool
from pipeline.run import Run, attempts, prepare
from pipeline.run.locate import shard_folders
from pipeline.types import Message, Record, Seed, Status
from tests.run.fakes import FACT, record

WANTED, MOST_TAIL = 0.9, 0.05
INTERRUPTED = 130
TOOL = Tool(
    name="answer",
    description="Answer.",
    parameters={"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
)


class Measured(NamedTuple):
    """What the servers saw of one job. Seconds by the clock."""

    seeds: int
    broken: int
    """Tries at a seed that ended in an error, other than by being stopped."""
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
    def rate(self) -> float:
        return self.calls / self.wall


def in_flight(begun: list[float], ended: list[float], since: float, until: float) -> float:
    """Seconds that calls were in flight between two moments, summed over the calls."""
    spans = zip(begun, ended, strict=True)
    return sum(max(0.0, min(end, until) - max(begin, since)) for begin, end in spans)


def measured(stats: list[dict[str, Any]], tries: list[attempts.Attempt], slots: int) -> Measured:
    """`slots` are those of all servers together."""
    begun = [time for one in stats for time in one["begun"]]
    ended = [time for one in stats for time in one["times"]]
    first, last = min(begun), max(ended)
    no_more = max(datetime.fromisoformat(one.began).timestamp() for one in tries)
    ends = [one.ended for one in tries]
    return Measured(
        seeds=sum(end in set(Status) for end in ends),
        broken=sum(end not in (*Status, "CancelledError") for end in ends),
        calls=len(ended),
        throttled=sum(one["throttled"] for one in stats),
        busiest=max(one["busiest"] for one in stats),
        cached=sum(one["cached"] for one in stats) / len(stats),
        wall=last - first,
        latency=in_flight(begun, ended, first, last) / len(ended),
        busy=in_flight(begun, ended, first, no_more) / (slots * (no_more - first)),
        tail=(slots * (last - no_more) - in_flight(begun, ended, no_more, last)) / (slots * (last - first)),
    )


def configured(options: argparse.Namespace, urls: list[str], out: Path, shard: str) -> RunConfig:
    limits = {"concurrency": options.limit // options.workers}
    model = {"provider": "openai", "model": "m", "base_urls": urls, "limits": limits}
    how = {"out": out, "seeds": options.seeds, "shard": shard}
    return build(
        values={"corpus": {"name": options.corpus}, "models": {"default": model}, "how": how}, sets=options.set
    )


def worker(number: int, urls: list[str], options: argparse.Namespace, out: Path) -> subprocess.Popen[bytes]:
    """One part of the run, as on a machine of its own."""
    shard = f"{number}/{options.workers}"
    same = ("--seeds", str(options.seeds), "--out", str(out), *(part for one in options.set for part in ("--set", one)))
    if options.loop:
        addresses = [part for url in urls for part in ("--base-url", url)]
        limit = f"models.default.limits.concurrency={options.limit // options.workers}"
        model = ("--model", "openai:m", *addresses, "--set", limit)
        words = ("pipeline.cli", "generate", options.corpus, "--no-flow", "--json", "--shard", shard, *same, *model)
    else:
        words = ("bench.pool", "--worker", shard, "--urls", " ".join(urls), *same)
        words += ("--limit", str(options.limit), "--workers", str(options.workers), "--corpus", options.corpus)
    log = (out / f"worker-{number}.log").open("wb")
    return subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, stdout=log, stderr=log)


def work(options: argparse.Namespace) -> None:
    """What a worker without a corpus does."""
    config = configured(options, options.urls.split(), options.out, options.worker)
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

    with Run(config, Source(options.seeds)) as run:
        try:
            asyncio.run(run.execute(run_seed, Quiet()))
        except Interrupted:
            sys.exit(INTERRUPTED)


def job(options: argparse.Namespace, out: Path) -> Measured:
    """All workers, from their start to their last call. What they prepare first is not counted: no call is made yet."""
    fates = [f"loaded:{options.limit}"] * options.servers
    with simulated(options.latency, *fates) as line:
        urls = line.split()
        workers = [worker(number, urls, options, out) for number in range(1, options.workers + 1)]
        try:
            until = time.monotonic() + options.seconds
            while any(one.poll() is None for one in workers):
                time.sleep(1)
                if time.monotonic() > until:
                    until = math.inf
                    for one in workers:
                        one.send_signal(signal.SIGINT)
        finally:
            for one in workers:
                one.kill()
        stats = [told(url, "stats") for url in urls]
    if broken := [one.args for one in workers if one.returncode not in (0, SHORT, INTERRUPTED)]:
        raise SystemExit(f"{len(broken)} workers failed\n{(out / 'worker-1.log').read_text()[-2000:]}")
    folders = shard_folders(options.corpus, out)
    return measured(
        stats, [one for folder in folders for one in attempts.read(folder)], options.limit * options.servers
    )


def main(options: argparse.Namespace) -> bool:
    out = options.out.resolve()
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as home:
        # The corpus and the index are those that are there; journals and caches must be new.
        for name in ("corpora", "indexes"):
            if (out / name).exists():
                (Path(home) / name).symlink_to(out / name)
        found = job(options, Path(home))
    if options.json:
        print(orjson.dumps(found._asdict() | {"rate": found.rate}).decode())
    else:
        shown = {
            name: f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
            for name, value in found._asdict().items()
        }
        print(table(("figure", ""), [*shown.items(), ("calls a second", f"{found.rate:.1f}")]))
    return (
        found.busy >= WANTED
        and found.tail <= MOST_TAIL
        and not found.throttled
        and found.busiest <= options.limit
        and not found.broken
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="wiki")
    parser.add_argument("--seeds", type=int, default=1000, help="of all workers together")
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--limit", type=int, default=32, help="calls that a server takes at once")
    parser.add_argument("--latency", type=float, default=2.0, help="seconds of a call where a server is idle")
    parser.add_argument("--set", action="append", default=[], help="any setting")
    parser.add_argument("--out", type=Path, default=Path("outputs"), help="where the index is, or is built")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after these all stop, and no tail is there")
    parser.add_argument("--loop", action="store_true", help="workers are `digsite generate`")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--urls", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given)
    else:
        sys.exit(0 if main(given) else 1)
