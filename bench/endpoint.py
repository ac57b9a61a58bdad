"""How much of an endpoint the whole job uses: against a simulated one of known latency, and beside the bare SDK.

`efficiency` is ideal / wall of the digging, where ideal = max(calls x latency / cap, longest seed): the wall of a
scheduler that knows all and costs nothing. The ramp and the last seeds count. `sdk` sets the job's calls a second where
the CPU is the limit beside those of the bare SDK with the same bodies, and the CPU time of a call, which is steadier on
a busy machine.
"""

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson
from openai import AsyncOpenAI

from bench.common import table
from pipeline.config import build
from pipeline.loop.episode import is_control, run_seed
from pipeline.run import Run, RunResult, prepare
from pipeline.types import Record, Rollout, Verdict
from tests.run.fakes import Watch

ROOT = Path(__file__).parents[1]
POINTS = {8: 0.25, 64: 1.0, 256: 4.0}
"""Calls in flight, and the latency of each in seconds."""
SEEDS = {8: 160, 64: 768, 256: 320}
"""Minutes each. At 8 and 64 the calls are the limit, and the last seeds cost some per cent of it, less with more seeds;
at 256 the longest seed is, with as many others beside it as are at work at once."""
WANTED, SDK_WANTED = 0.9, 0.7


class Point(NamedTuple):
    """One job. Seconds are those of the digging."""

    cap: int
    latency: float
    seeds: int
    accepted: int
    calls: int
    busiest: int
    wall: float
    cpu: float
    ideal: float

    @property
    def efficiency(self) -> float:
        return self.ideal / self.wall


@contextmanager
def simulated(latency: float, *fates: str) -> Iterator[str]:
    """The address of a simulated endpoint; with fates those of one for each, separated by blanks."""
    command = [sys.executable, "-m", "bench.simulated", str(latency), *fates]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def told(url: str, what: str) -> Any:
    with urllib.request.urlopen(url.replace("/v1", f"/{what}")) as answer:
        return orjson.loads(answer.read())


class Job(NamedTuple):
    """A whole job: what came of it, and the seconds of the digging, by the clock and of the processor."""

    result: RunResult
    records: list[Record]
    share: float
    """Of the seeds that are controls."""
    wall: float
    cpu: float


def job(urls: Sequence[str], cap: int, options: argparse.Namespace, seeds: int) -> Job:
    """The digging of `digsite generate`, with journal, cache, index and ledger, in a folder that is thrown away."""
    model = {"provider": "openai", "model": "m", "base_urls": urls, "limits": {"concurrency": cap}}
    with tempfile.TemporaryDirectory() as folder:
        values: dict[str, Any] = {
            "corpus": {"name": options.corpus},
            "models": {"default": model},
            "how": {"out": options.out, "seeds": seeds},
        }
        config = build(values=values, sets=options.set)
        texts = prepare.corpus(config)
        # The index may be an old one; journal and cache must not.
        fresh = config.with_how(out=Path(folder))
        context = replace(prepare.context(config, texts), config=fresh, llm=prepare.model(fresh))
        with Run(fresh, texts) as run:
            cpu, began = _cpu(), time.monotonic()
            result = asyncio.run(run.execute(partial(run_seed, context=context), Watch()))
            wall, cpu = time.monotonic() - began, _cpu() - cpu
            return Job(result, list(run.kept()), config.loop.control_share, wall, cpu)


def point(url: str, cap: int, latency: float, options: argparse.Namespace, seeds: int) -> Point:
    """One job at one endpoint."""
    done, stats = job([url], cap, options, seeds), told(url, "stats")
    depth = max(depth_of(record, done.share) for record in done.records)
    ideal = max(stats["answered"] * latency / cap, depth * latency)
    accepted = done.result.accepted
    return Point(cap, latency, seeds, accepted, stats["answered"], stats["busiest"], done.wall, done.cpu, ideal)


def depth_of(record: Record, share: float) -> int:
    """Calls of a seed that must follow one another: all but those of rollouts that run side by side, as they do in a
    confirmation and in the `share` of controls."""
    return sum(
        past.agent.usage.calls
        + sum(probe.usage.calls + probe.judged.calls for probe in past.probes)
        + _after_another(past.rollouts, past.verdicts, together=is_control(record.seed, past.index, share))
        for past in record.rounds
    ) + _after_another(record.confirmation, record.confirmation_verdicts, together=True)


def _after_another(rollouts: tuple[Rollout, ...], verdicts: tuple[Verdict, ...], *, together: bool) -> int:
    calls = [r.trajectory.usage.calls + v.usage.calls for r, v in zip(rollouts, verdicts, strict=True)]
    return max(calls, default=0) if together else sum(calls)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def sdk(url: str, bodies: list[dict[str, Any]], cap: int, calls: int) -> tuple[float, float]:
    """Calls a second of the bare SDK with the same bodies, and its CPU seconds a call."""
    client = AsyncOpenAI(
        api_key="none",
        base_url=url,
        max_retries=0,
        http_client=httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=cap, max_keepalive_connections=cap), timeout=httpx2.Timeout(300)
        ),
    )
    gate = asyncio.Semaphore(cap)

    async def one(body: dict[str, Any]) -> None:
        async with gate:
            await client.chat.completions.create(**body)

    cpu, began = _cpu(), time.monotonic()
    await asyncio.gather(*(one(bodies[n % len(bodies)]) for n in range(calls)))
    seconds, cpu = time.monotonic() - began, _cpu() - cpu
    await client.close()
    return calls / seconds, cpu / calls


def beside_sdk(options: argparse.Namespace, cap: int = 256, latency: float = 0.02) -> dict[str, float]:
    """The job where latency is next to nothing, and the SDK with what the job sent, before and after one another."""
    with simulated(latency) as url:
        ours = point(url, cap, latency, options, options.sdk_seeds)
        bodies = [orjson.loads(body) for body in told(url, "bodies")]
        rate, cpu = asyncio.run(sdk(url, bodies, cap, ours.calls))
    return {
        "ours": ours.calls / ours.wall,
        "sdk": rate,
        "share": ours.calls / ours.wall / rate,
        "cpu_ms_ours": 1000 * ours.cpu / ours.calls,
        "cpu_ms_sdk": 1000 * cpu,
    }


def main(options: argparse.Namespace) -> bool:
    points = []
    for cap, latency in POINTS.items():
        if not options.cap or cap in options.cap:
            with simulated(latency) as url:
                points.append(point(url, cap, latency, options, options.seeds or SEEDS[cap]))
                print(points[-1], file=sys.stderr)
    rate = beside_sdk(options) if options.sdk_seeds else {}
    efficiency = {str(done.cap): round(done.efficiency, 3) for done in points}
    if options.json:
        print(orjson.dumps({"efficiency": efficiency, "sdk": rate, "points": [p._asdict() for p in points]}).decode())
    else:
        heads = (
            "cap",
            "latency s",
            "seeds",
            "accepted",
            "calls",
            "busiest",
            "wall s",
            "cpu s",
            "ideal s",
            "efficiency",
        )
        print(table(heads, [(*p[:6], *(f"{x:.1f}" for x in p[6:]), f"{p.efficiency:.3f}") for p in points]))
        print("\n".join(f"{name} {value:.3g}" for name, value in rate.items()))
    slow = [name for name, value in efficiency.items() if value < WANTED]
    return not slow and rate.get("share", 1.0) >= SDK_WANTED


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="wiki")
    parser.add_argument("--cap", type=int, action="append", choices=list(POINTS), help="these points only")
    parser.add_argument("--seeds", type=int, help="of each point")
    parser.add_argument("--sdk-seeds", type=int, default=150, help="of the comparison with the SDK; 0: none")
    parser.add_argument("--set", action="append", default=[], help="any setting")
    parser.add_argument("--out", type=Path, default=Path("outputs"), help="where the index is, or is built")
    parser.add_argument("--json", action="store_true")
    sys.exit(0 if main(parser.parse_args()) else 1)
