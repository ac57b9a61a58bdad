"""Run a complete job at simulated endpoints: `python -m bench.endpoint [--fates]`.

Without `--fates`: compare the job's calls a second, at almost no latency, with those of the bare SDK sending the same
bodies, and the processor time of a call, which is steadier on a busy machine.

With it: run three endpoints of one model, of which one dies and one answers 429 for stretches. The records must be
those of one endpoint, and the two survivors must do as much as they do alone. Throughput is their answers a second
between the first tenth and the last fifth of the answers: at the start and the end of a job there is too little work
for any number of endpoints. The third endpoint dies within that time.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson
from openai import AsyncOpenAI

from bench.common import Stopwatch, format_table, median
from pipeline.config import build
from pipeline.loop.episode import run_seed
from pipeline.run import Run, RunResult, prepare
from tests.run.fakes import RunCallbacks
from tests.simulated_endpoint import get_json, run_endpoints

CONCURRENCY, SDK_CONCURRENCY = 8, 256
"""Calls in flight at each endpoint."""
LATENCY, SDK_LATENCY = 0.4, 0.02
STEADY, BUSY, DIES = "steady", "busy:7:3", "dies:400"
MIDDLE, MIN_RATIO, MIN_SDK_RATIO = (0.1, 0.8), 0.9, 0.7


class Job(NamedTuple):
    result: RunResult
    records: list[bytes]
    watch: Stopwatch


def run_job(urls: Sequence[str], concurrency: int, options: argparse.Namespace) -> Job:
    """Generate with journal, cache, index and ledger, in a folder that is deleted afterwards."""
    model = {"provider": "openai", "model": "m", "base_urls": urls, "limits": {"concurrency": concurrency}}
    how = {"out": options.out, "seeds": options.seeds}
    values = {"corpus": {"name": options.corpus}, "models": {"default": model}, "runtime": how}
    with tempfile.TemporaryDirectory() as folder:
        config = build(values=values, sets=options.set)
        corpus = prepare.corpus(config)
        # Reuse an existing index, but never a journal or cache.
        fresh = config.with_runtime(out=Path(folder))
        context = replace(prepare.context(config, corpus), config=fresh, llm=prepare.model(fresh))
        with Run(fresh, corpus) as run:
            with Stopwatch() as watch:
                result = asyncio.run(run.execute(partial(run_seed, context=context), RunCallbacks()))
            return Job(result, [record.model_dump_json().encode() for record in run.records()], watch)


async def time_sdk(url: str, bodies: list[dict[str, Any]], calls: int) -> Stopwatch:
    limits = httpx2.Limits(max_connections=SDK_CONCURRENCY, max_keepalive_connections=SDK_CONCURRENCY)
    http = httpx2.AsyncClient(limits=limits, timeout=httpx2.Timeout(300))
    client = AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=http)
    gate = asyncio.Semaphore(SDK_CONCURRENCY)

    async def send(body: dict[str, Any]) -> None:
        async with gate:
            await client.chat.completions.create(**body)

    with Stopwatch() as watch:
        await asyncio.gather(*(send(bodies[n % len(bodies)]) for n in range(calls)))
    await client.close()
    return watch


def compare_with_sdk(options: argparse.Namespace) -> bool:
    with run_endpoints(SDK_LATENCY) as url:
        job = run_job([url], SDK_CONCURRENCY, options).watch
        calls = get_json(url, "stats")["answered"]
        sdk = asyncio.run(time_sdk(url, [orjson.loads(body) for body in get_json(url, "bodies")], calls))
    rows = [
        (client, calls, f"{calls / watch.wall:.0f}", f"{1000 * watch.cpu / calls:.2f}")
        for client, watch in (("the job", job), ("the SDK", sdk))
    ]
    print(format_table(("", "calls", "a second", "CPU ms a call"), rows))
    return sdk.wall / job.wall >= MIN_SDK_RATIO


def compute_rate(times: list[float]) -> float:
    """Return the answers a second in the middle of a job."""
    ordered = sorted(times)
    first, last = (int(share * len(ordered)) for share in MIDDLE)
    return (last - first) / (ordered[last] - ordered[first])


def compare_fates(options: argparse.Namespace) -> bool:
    rows, rates, jobs = list[tuple[Any, ...]](), list[float](), list[Job]()

    def measure(concurrency: int, *fates: str) -> None:
        with run_endpoints(LATENCY, *fates) as line:
            job = run_job(line.split(), concurrency, options)
            living = [url for url, fate in zip(line.split(), fates, strict=True) if fate != DIES]
            stats = [get_json(url, "stats") for url in living]
        rates.append(compute_rate([time for endpoint in stats for time in endpoint["end_times"]]))
        counts = [sum(endpoint[name] for endpoint in stats) for name in ("answered", "throttled")]
        rows.append((" + ".join(fates), job.result.failed, *counts, f"{job.watch.wall:.1f}", f"{rates[-1]:.1f}"))
        jobs.append(job)

    measure(4 * CONCURRENCY, STEADY)
    for _ in range(options.repeat):
        measure(CONCURRENCY, STEADY, BUSY)
        measure(CONCURRENCY, STEADY, DIES, BUSY)
    same, failed = all(job.records == jobs[0].records for job in jobs), sum(job.result.failed for job in jobs)
    ratios = [three / two for two, three in zip(rates[1::2], rates[2::2], strict=True)]
    print(format_table(("endpoints", "failed", "answers", "429s", "wall s", "answers a second"), rows))
    print(f"the two survivors, compared with themselves alone: {', '.join(f'{ratio:.3f}' for ratio in ratios)}")
    print("the same records" if same else "OTHER RECORDS")
    return same and not failed and median(ratios) >= MIN_RATIO


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fates", action="store_true")
    parser.add_argument("--corpus", default="wiki")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=1, help="with --fates")
    parser.add_argument("--set", action="append", default=[], help="any setting")
    parser.add_argument("--out", type=Path, default=Path("outputs"), help="where the index is, or is built")
    options = parser.parse_args()
    sys.exit(0 if (compare_fates if options.fates else compare_with_sdk)(options) else 1)
