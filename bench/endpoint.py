"""A whole job at simulated endpoints: `python -m bench.endpoint [--fates]`.

Without `--fates`: the job's calls a second where latency is next to nothing, beside those of the bare SDK with the same
bodies, and the processor's time of a call, which is steadier on a busy machine.

With it: three endpoints of one model, of which one dies and one answers 429 for stretches. Are the records those of one
endpoint, and do the two that live do as much as they do alone? Throughput is the answers a second of these two, between
the first tenth and the last fifth of them: at the start and at the end of a job there is too little to do for any
number of endpoints. The endpoint that dies does so within that time.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson
from openai import AsyncOpenAI

from bench.common import Stopwatch, median, table
from pipeline.config import build
from pipeline.loop.episode import run_seed
from pipeline.run import Run, RunResult, prepare
from tests.run.fakes import RunCallbacks

ROOT = Path(__file__).parents[1]
CAP, SDK_CAP = 8, 256
"""Calls in flight, at each endpoint."""
LATENCY, SDK_LATENCY = 0.4, 0.02
STEADY, BUSY, DIES = "steady", "busy:7:3", "dies:400"
BEGIN, END, WANTED = 0.1, 0.8, 0.9


@contextmanager
def run_endpoints(latency: float, *fates: str) -> Iterator[str]:
    """The address of a simulated endpoint; with fates those of one for each, separated by blanks."""
    command = [sys.executable, "-m", "bench.simulated", str(latency), *fates]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def get_json(url: str, what: str) -> Any:
    return httpx2.get(url.replace("/v1", f"/{what}"), timeout=60).json()


class Job(NamedTuple):
    """A whole job: what came of it, and the seconds of the digging."""

    result: RunResult
    records: list[bytes]
    took: Stopwatch


def job(urls: Sequence[str], cap: int, options: argparse.Namespace) -> Job:
    """The digging of `digsite generate`, with journal, cache, index and ledger, in a folder that is thrown away."""
    model = {"provider": "openai", "model": "m", "base_urls": urls, "limits": {"concurrency": cap}}
    how = {"out": options.out, "seeds": options.seeds}
    values = {"corpus": {"name": options.corpus}, "models": {"default": model}, "runtime": how}
    with tempfile.TemporaryDirectory() as folder:
        config = build(values=values, sets=options.set)
        texts = prepare.corpus(config)
        # The index may be an old one; journal and cache must not.
        fresh = config.with_runtime(out=Path(folder))
        context = replace(prepare.context(config, texts), config=fresh, llm=prepare.model(fresh))
        with Run(fresh, texts) as run:
            with Stopwatch() as took:
                result = asyncio.run(run.execute(partial(run_seed, context=context), RunCallbacks()))
            return Job(result, [record.model_dump_json().encode() for record in run.records()], took)


async def sdk(url: str, bodies: list[dict[str, Any]], calls: int) -> Stopwatch:
    """What the bare SDK takes for so many calls with the same bodies."""
    limits = httpx2.Limits(max_connections=SDK_CAP, max_keepalive_connections=SDK_CAP)
    http = httpx2.AsyncClient(limits=limits, timeout=httpx2.Timeout(300))
    client, gate = (
        AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=http),
        asyncio.Semaphore(SDK_CAP),
    )

    async def one(body: dict[str, Any]) -> None:
        async with gate:
            await client.chat.completions.create(**body)

    with Stopwatch() as took:
        await asyncio.gather(*(one(bodies[n % len(bodies)]) for n in range(calls)))
    await client.close()
    return took


def beside_sdk(options: argparse.Namespace) -> bool:
    with run_endpoints(SDK_LATENCY) as url:
        ours = job([url], SDK_CAP, options).took
        calls = get_json(url, "stats")["answered"]
        theirs = asyncio.run(sdk(url, [orjson.loads(body) for body in get_json(url, "bodies")], calls))
    rows = [
        (who, calls, f"{calls / took.wall:.0f}", f"{1000 * took.cpu / calls:.2f}")
        for who, took in (("the job", ours), ("the SDK", theirs))
    ]
    print(table(("", "calls", "a second", "CPU ms a call"), rows))
    return theirs.wall / ours.wall >= 0.7


def rate(times: list[float]) -> float:
    """Answers a second in the middle of a job."""
    ordered = sorted(times)
    first, last = int(BEGIN * len(ordered)), int(END * len(ordered))
    return (last - first) / (ordered[last] - ordered[first])


def run_fates(options: argparse.Namespace) -> bool:
    def measured(cap: int, *fates: str) -> Job:
        with run_endpoints(LATENCY, *fates) as line:
            done, stats = job(line.split(), cap, options), []
            for url, fate in zip(line.split(), fates, strict=True):
                stats += [get_json(url, "stats")] if fate != DIES else []
        rates.append(rate([time for one in stats for time in one["times"]]))
        counts = [sum(one[name] for one in stats) for name in ("answered", "throttled")]
        rows.append((" + ".join(fates), done.result.failed, *counts, f"{done.took.wall:.1f}", f"{rates[-1]:.1f}"))
        return done

    rows, rates = list[tuple[Any, ...]](), list[float]()
    jobs = [measured(4 * CAP, STEADY)]
    for _ in range(options.repeat):
        jobs += [measured(CAP, STEADY, BUSY), measured(CAP, STEADY, DIES, BUSY)]
    same, failed = all(done.records == jobs[0].records for done in jobs), sum(done.result.failed for done in jobs)
    ratios = [three / two for two, three in zip(rates[1::2], rates[2::2], strict=True)]
    print(table(("endpoints", "failed", "answers", "429s", "wall s", "answers a second"), rows))
    print(f"the two that live, beside themselves alone: {', '.join(f'{ratio:.3f}' for ratio in ratios)}")
    print("the same records" if same else "OTHER RECORDS")
    return same and not failed and median(ratios) >= WANTED


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fates", action="store_true")
    parser.add_argument("--corpus", default="wiki")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=1, help="with --fates")
    parser.add_argument("--set", action="append", default=[], help="any setting")
    parser.add_argument("--out", type=Path, default=Path("outputs"), help="where the index is, or is built")
    given = parser.parse_args()
    sys.exit(0 if (run_fates if given.fates else beside_sdk)(given) else 1)
