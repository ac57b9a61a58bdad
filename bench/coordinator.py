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
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import orjson

from bench.common import Stopwatch, table
from bench.journals import ACCEPTED_OF, Lines, Quiet, Source
from pipeline.config import RunConfig, build
from pipeline.run import Run, publish
from pipeline.run.plan import Order
from pipeline.store.journal import Journal
from pipeline.store.shards import join_journals
from pipeline.types import Record, Seed

SHARDS = 4


def configured(out: Path, lines: int) -> RunConfig:
    return build(values={"corpus": {"name": "wiki"}, "how": {"out": out, "seeds": lines}})


class Bench:
    """The stages, over one folder."""

    def __init__(self, home: Path, lines: int, size: int, live: int) -> None:
        self.home, self.lines, self.size, self.live_seeds = home, lines, size, live
        self.config = configured(home, lines)
        self.source = Source(max(lines, 2))
        self.folder = self.config.folder()

    def stages(self) -> dict[str, Callable[[], dict[str, Stopwatch]]]:
        return {
            "idle": dict,
            "live": self.live,
            "write": self.write,
            "journal": self.journal,
            "open": self.open,
            **{f"export {view}": self._exporter(view) for view in ("qa", "sft", "records")},
            "report": self.report,
            "merge": self.merge,
        }

    def live(self) -> dict[str, Stopwatch]:
        """Seeds that end at once: planned, journalled and gated as those of any run."""
        config = configured(self.home / "live", self.live_seeds)
        lines, order = Lines(self.size), Order(config, self.source)
        made = {order[n].seed.key: lines.record(n, order[n]) for n in range(self.live_seeds)}

        async def run_seed(seed: Seed) -> Record:
            return made[seed.key]

        with Run(config, self.source) as run, Stopwatch() as took:
            asyncio.run(run.execute(run_seed, Quiet()))
        return {"live": took}

    def write(self) -> dict[str, Stopwatch]:
        with Run(self.config, self.source):
            pass  # writes what the others read beside the journal
        lines, order = Lines(self.size), Order(self.config, self.source)
        path = self.folder / "journal" / "main.jsonl"
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            for number in range(self.lines):
                file.write(lines.line(number, order[number]))
        print(f"a line has {path.stat().st_size / self.lines:,.0f} bytes", file=sys.stderr)
        return {}

    def journal(self) -> dict[str, Stopwatch]:
        with Stopwatch() as took:
            found = Journal(self.folder / "journal")
        assert len(found.entries) == self.lines
        return {"journal": took}

    def open(self) -> dict[str, Stopwatch]:
        opened, asked = Stopwatch(), Stopwatch()
        with ExitStack() as stack:
            with opened:
                run = stack.enter_context(Run(self.config, self.source))
            with asked:
                result = run.result()
        assert result.planned == self.lines
        assert result.complete
        assert result.accepted == len(range(0, self.lines, ACCEPTED_OF)), result
        return {"open": opened, "result()": asked}

    def _exporter(self, view: str) -> Callable[[], dict[str, Stopwatch]]:
        def stage() -> dict[str, Stopwatch]:
            with Stopwatch() as took:
                publish.dataset(self.folder, self.config, views=(view,))
            return {f"export {view}": took}

        return stage

    def report(self) -> dict[str, Stopwatch]:
        with Stopwatch() as took:
            publish.report(self.folder, self.config)
        return {"report": took}

    def merge(self) -> dict[str, Stopwatch]:
        """Journals of the shards to one: the rest of `digsite merge` is the opening, the export and the report."""
        shards = [self.home / "shards" / str(number) for number in range(SHARDS)]
        files = []
        for shard in shards:
            shard.mkdir(parents=True)
            files.append((shard / "main.jsonl").open("wb"))
        with (self.folder / "journal" / "main.jsonl").open("rb") as journal:
            for number, line in enumerate(journal):
                files[number % SHARDS].write(line)
        for file in files:
            file.close()
        joined = self.home / "joined"
        joined.mkdir()
        with Stopwatch() as took:
            counts = join_journals(joined, shards, None, lambda head: True)
        assert sum(one.good for one in counts) == self.lines
        shutil.rmtree(joined)
        shutil.rmtree(self.home / "shards")
        return {"merge": took}


class Stage(NamedTuple):
    """What a stage took, in a process of its own."""

    seconds: dict[str, tuple[float, float]]
    """By the clock and of the processor."""
    peak: float
    """Bytes."""


def staged(name: str, options: argparse.Namespace, home: Path) -> Stage:
    given = [f"--{key}={getattr(options, key)}" for key in ("lines", "bytes", "live")]
    command = [sys.executable, "-m", "bench.coordinator", "--stage", name, "--home", str(home), *given]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    tree = orjson.loads(done.stdout.splitlines()[-1])
    return Stage(tree["seconds"], tree["peak"])


def main(options: argparse.Namespace) -> None:
    home = options.home or Path(tempfile.mkdtemp(prefix="digsite-coordinator-"))
    bench = Bench(home, options.lines, options.bytes, options.live)
    if options.stage:
        took = {name: (watch.wall, watch.cpu) for name, watch in bench.stages()[options.stage]().items()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(orjson.dumps({"seconds": took, "peak": peak}).decode())
        return
    rows = []
    try:
        names = options.only or list(bench.stages())
        for name in names:
            stage = staged(name, options, home)
            print(name, stage, f"load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
            count = options.live if name == "live" else options.lines
            for what, (wall, cpu) in (stage.seconds or {name: (0.0, 0.0)}).items():
                rate, each = (f"{count / wall:,.0f}", f"{1e6 * cpu / count:,.1f}") if wall else ("", "")
                rows.append((what, f"{wall:.1f}", rate, f"{cpu:.1f}", each, f"{stage.peak / 2**20:,.0f}"))
    finally:
        if options.home is None:
            shutil.rmtree(home)
    print(f"{options.lines:,} lines of about {options.bytes:,} bytes")
    print(table(("stage", "s", "lines/s", "cpu s", "cpu µs/line", "peak MiB"), rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--bytes", type=int, default=2000, help="of a line, about")
    parser.add_argument("--live", type=int, default=5000, help="seeds that are run")
    parser.add_argument("--only", action="append", help="this stage; repeatable")
    parser.add_argument("--home", type=Path, help="a folder that stays, so that later commands go on with its journal")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    main(parser.parse_args())
