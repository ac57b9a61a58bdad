"""What the coordinator alone can do: seeds a second that it plans, journals, gates and exports, and in how much memory.

    python -m bench.coordinator --lines 1000000 --bytes 2000
    python -m bench.coordinator --lines 20000 --bytes 300000

The journal is made here, of about so many bytes a line, a third of it accepted pairs that all gates let through; its
seeds are those of the plan over a corpus of as many passages, which is made as it is asked for. Each stage is a process
of its own, so that its seconds begin with nothing in memory and its peak is its own; `idle` is one that has imported
what the others import. `live` runs seeds that end at once, through the run that `generate` works with.
"""

import argparse
import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import orjson

from bench.common import Stopwatch, table
from bench.journals import ACCEPTED_OF, Lines, Quiet, Source
from pipeline.config import build
from pipeline.run import Run, publish
from pipeline.run.plan import Order
from pipeline.store.journal import Journal
from pipeline.types import Record, Seed

Took = Iterator[tuple[str, Stopwatch]]


class Bench:
    """The stages, over one folder. Each gives what it measured, by name."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.home, self.lines, self.size, self.seeds = options.home, options.lines, options.bytes, options.live
        values = {"corpus": {"name": "wiki"}, "runtime": {"out": self.home, "seeds": self.lines}}
        self.config, self.source = build(values=values), Source(max(self.lines, 2))
        self.folder = self.config.folder()
        self.journals = self.folder / "journal"
        exports = {f"export {view}": partial(self.export, view) for view in ("qa", "sft", "records")}
        self.stages: dict[str, Callable[[], Took]] = {
            "idle": lambda: iter(()), "live": self.live, "write": self.write, "journal": self.journal,
            "open": self.open, **exports, "report": self.report,
        }  # fmt: skip

    def live(self) -> Took:
        """Seeds that end at once: planned, journalled and gated as those of any run."""
        config = self.config.with_runtime(out=self.home / "live", seeds=self.seeds)
        lines, order = Lines(self.size), Order(config, self.source)
        made = {order[n].seed.key: lines.record(n, order[n]) for n in range(self.seeds)}

        async def run_seed(seed: Seed) -> Record:
            return made[seed.key]

        with Run(config, self.source) as run, Stopwatch() as took:
            asyncio.run(run.execute(run_seed, Quiet()))
        yield "live", took

    def write(self) -> Took:
        with Run(self.config, self.source):
            pass  # writes what the others read beside the journal
        lines, order = Lines(self.size), Order(self.config, self.source)
        self.journals.mkdir(exist_ok=True)
        with (self.journals / "main.jsonl").open("wb") as file:
            file.writelines(lines.line(number, order[number]) for number in range(self.lines))
            print(f"a line has {file.tell() / self.lines:,.0f} bytes", file=sys.stderr)
        yield from ()

    def journal(self) -> Took:
        with Stopwatch() as took:
            found = Journal(self.journals)
        assert len(found.entries) == self.lines
        yield "journal", took

    def open(self) -> Took:
        with Stopwatch() as took:
            run = Run(self.config, self.source).__enter__()
        yield "open", took
        with Stopwatch() as took:
            result = run.result()
        assert (result.planned, result.complete) == (self.lines, True)
        assert result.accepted == len(range(0, self.lines, ACCEPTED_OF)), result
        yield "result()", took
        run.__exit__(None, None, None)

    def export(self, view: str) -> Took:
        with Stopwatch() as took:
            publish.dataset(self.folder, self.config, views=(view,))
        yield f"export {view}", took

    def report(self) -> Took:
        with Stopwatch() as took:
            publish.report(self.folder, self.config)
        yield "report", took


def main(options: argparse.Namespace) -> None:
    if options.stage:
        took = [(name, watch.wall, watch.cpu) for name, watch in Bench(options).stages[options.stage]()]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(orjson.dumps([took or [(options.stage, 0.0, 0.0)], peak]).decode())
        return
    options.home, rows = Path(tempfile.mkdtemp(prefix="digsite-coordinator-")), []
    given = [f"--{key}={getattr(options, key)}" for key in ("lines", "bytes", "live", "home")]
    try:
        for stage in Bench(options).stages:
            command = [sys.executable, "-m", "bench.coordinator", "--stage", stage, *given]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            found, peak = orjson.loads(done.stdout.splitlines()[-1])
            print(stage, found, peak, f"load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
            count = options.live if stage == "live" else options.lines
            for what, wall, cpu in found:
                rate, each = (f"{count / wall:,.0f}", f"{1e6 * cpu / count:,.1f}") if wall else ("", "")
                rows.append((what, f"{wall:.1f}", rate, f"{cpu:.1f}", each, f"{peak / 2**20:,.0f}"))
    finally:
        shutil.rmtree(options.home)
    print(f"{options.lines:,} lines of about {options.bytes:,} bytes")
    print(table(("stage", "s", "lines/s", "cpu s", "cpu µs/line", "peak MiB"), rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=2000, help="of a line, about")
    parser.add_argument("--live", type=int, default=5000, help="seeds that are run")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    main(parser.parse_args())
