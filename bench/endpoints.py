"""Three endpoints of one model, of which one dies and one answers 429 for stretches: are the records those of one
endpoint, and do the two that live do as much as they do alone?

Throughput is the answers a second of the two that live, between the first tenth and the last fifth of them: at the
start and at the end of a job there is too little to do for any number of endpoints. The endpoint that dies does so
within that time. `--repeat` makes several pairs of jobs, one after another.
"""

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bench.common import table
from bench.endpoint import Job, job, simulated, told

STEADY, BUSY = "steady", "busy:7:3"
BEGIN, END = 0.1, 0.8
WANTED = 0.9


class Measured(NamedTuple):
    """One job at some endpoints. The rate is that of those that live."""

    endpoints: str
    failed: int
    accepted: int
    answered: int
    throttled: int
    wall: float
    rate: float
    records: list[bytes]


def measured(fates: tuple[str, ...], cap: int, latency: float, options: argparse.Namespace) -> Measured:
    with simulated(latency, *fates) as line:
        urls = line.split()
        done = job(urls, cap, options, options.seeds)
        stats = [told(url, "stats") for url, fate in zip(urls, fates, strict=True) if not fate.startswith("dies")]
    return Measured(
        " + ".join(fates),
        done.result.failed,
        done.result.accepted,
        sum(one["answered"] for one in stats),
        sum(one["throttled"] for one in stats),
        done.wall,
        rate([time for one in stats for time in one["times"]]),
        bytes_of(done),
    )


def bytes_of(done: Job) -> list[bytes]:
    return [record.model_dump_json().encode() for record in done.records]


def rate(times: list[float]) -> float:
    """Answers a second in the middle of a job."""
    ordered = sorted(times)
    first, last = int(BEGIN * len(ordered)), int(END * len(ordered))
    return (last - first) / (ordered[last] - ordered[first])


def main(options: argparse.Namespace) -> bool:
    cap, latency = options.cap, options.latency
    one = measured((STEADY,), 4 * cap, latency, options)
    jobs, ratios = [one], []
    for _ in range(options.repeat):
        two = measured((STEADY, BUSY), cap, latency, options)
        three = measured((STEADY, f"dies:{options.dies}", BUSY), cap, latency, options)
        jobs += [two, three]
        ratios.append(three.rate / two.rate)
        print(two[:-1], three[:-1], f"{ratios[-1]:.3f}", file=sys.stderr)
    same = all(done.records == one.records for done in jobs)
    failed = sum(done.failed for done in jobs)
    found: dict[str, Any] = {"ratios": ratios, "same records": same, "failed": failed}
    if options.json:
        print(orjson.dumps(found).decode())
    else:
        heads = ("endpoints", "failed", "accepted", "answers", "429s", "wall s", "answers a second")
        print(table(heads, [(*done[:5], f"{done.wall:.1f}", f"{done.rate:.1f}") for done in jobs]))
        print(f"the two that live, beside themselves alone: {', '.join(f'{ratio:.3f}' for ratio in ratios)}")
        print("the same records" if same else "OTHER RECORDS")
    return same and not failed and statistics.median(ratios) >= WANTED


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="wiki")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--cap", type=int, default=8, help="calls in flight at each endpoint")
    parser.add_argument("--latency", type=float, default=0.4)
    parser.add_argument("--dies", type=int, default=400, help="answers after which the second endpoint dies")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="any setting")
    parser.add_argument("--out", type=Path, default=Path("outputs"), help="where the index is, or is built")
    parser.add_argument("--json", action="store_true")
    sys.exit(0 if main(parser.parse_args()) else 1)
