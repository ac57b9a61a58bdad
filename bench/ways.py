"""Time the same `digsite generate` in several ways, one after another in each round.

    python -m bench.ways prefect wiki --pairs 30 --repeat 3    without Prefect, with its own server, with one that runs
    python -m bench.ways engines wiki --seeds 120 --repeat 2   one worker of Dask, two, one process

Each way has its own output folder, in which corpus, index and Prefect's database exist before the clock starts; each
round has a random seed of its own. All ways must write the same bytes. The table shows medians over the rounds: seconds
by the clock in total, until the first seed starts, until the last one ends, and after it; processor seconds of the
command, without a server; and ratios to the first way in the same round, since the load of the machine varies.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from bench.common import format_table, median
from pipeline.cli.generate import SHORT
from pipeline.flow.server import QUIET, Server
from pipeline.run import attempts

RUNNING = "a running server"
WAYS: dict[str, dict[str, tuple[str, ...]]] = {
    "prefect": {"without Prefect": ("--no-flow",), "a server of its own": (), RUNNING: ()},
    "engines": {
        "1 worker": ("--engine", "dask", "--workers", "1"),
        "2 workers": ("--engine", "dask", "--workers", "2"),
        "one process": ("--no-flow",),
    },
}


class Seconds(NamedTuple):
    """Seconds of one command."""

    total: float
    start: float
    seeds: float
    end: float
    cpu: float


def run_generate(out: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
    base = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_") and k != "PYTHONDONTWRITEBYTECODE"}
    words = [sys.executable, "-m", "pipeline.flow.main", "generate", *arguments, "--out", str(out), "--json"]
    process = subprocess.run(words, env=base | (env or {}), capture_output=True, text=True, check=False)
    if process.returncode not in (0, SHORT):
        raise SystemExit(f"{' '.join(arguments)}: exit {process.returncode}: {process.stderr}")


def time_generate(out: Path, *arguments: str, env: dict[str, str] | None = None) -> Seconds:
    start, cpu_before = time.time(), _cpu()
    run_generate(out, *arguments, env=env)
    end, cpu = time.time(), _cpu() - cpu_before
    spans = [(datetime.fromisoformat(a.began).timestamp(), a.seconds) for a in attempts.read(find_run(out))]
    first, last = min(began for began, _ in spans), max(began + seconds for began, seconds in spans)
    return Seconds(end - start, first - start, last - first, end - last, cpu)


def _cpu() -> float:
    """Return the processor seconds of all commands that have ended. A server keeps running, so it does not count."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def find_run(out: Path) -> Path:
    return max((path.parent for path in out.glob("*/*/run.json")), key=lambda run: run.stat().st_mtime_ns).resolve()


def read_dataset(out: Path) -> dict[str, bytes]:
    folder = find_run(out) / "dataset"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def start_server(out: Path) -> dict[str, str]:
    """Start a Prefect server and return the environment variables that lead to it."""
    server, before = Server(out / "server"), dict(os.environ)
    server.start(QUIET)
    variables = {name: value for name, value in os.environ.items() if name.startswith("PREFECT_")}
    server.wait()
    os.environ.clear()
    os.environ.update(before)
    return variables


def run_rounds(
    ways: dict[str, tuple[str, ...]], size: Sequence[str], repeat: int, home: Path
) -> list[dict[str, Seconds]]:
    env = {RUNNING: start_server(home)} if RUNNING in ways else {}
    outs = {way: home / way.replace(" ", "-") for way in ways}
    for way, flags in ways.items():
        run_generate(outs[way], size[0], "--seeds", "1", *flags, env=env.get(way))
    rounds = []
    for number in range(1, repeat + 1):
        arguments = (*size, "--seed", str(number))
        seconds = {way: time_generate(outs[way], *arguments, *flags, env=env.get(way)) for way, flags in ways.items()}
        rounds.append(seconds)
        first, *others = [read_dataset(out) for out in outs.values()]
        if any(dataset != first for dataset in others):
            raise SystemExit("not all ways made the same bytes")
    return rounds


def build_rows(rounds: Sequence[dict[str, Seconds]]) -> list[tuple[str, ...]]:
    """Return each way's seconds, its seconds more than the first way, and its ratios to it within a round."""
    base = next(iter(rounds[0]))
    rows = []
    for way in rounds[0]:
        seconds = [median([getattr(times[way], part) for times in rounds]) for part in Seconds._fields]
        extra = median([times[way].total - times[base].total for times in rounds])
        ratios = [
            median([getattr(times[way], part) / getattr(times[base], part) for times in rounds])
            for part in ("total", "seeds")
        ]
        rows.append((way, *(f"{s:.1f}" for s in seconds), f"{extra:+.1f}", *(f"{ratio:.2f}" for ratio in ratios)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", choices=WAYS)
    parser.add_argument("corpus", nargs="?", default="wiki")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seeds", type=int, help="run so many seeds instead")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    size = ("--seeds", str(options.seeds)) if options.seeds else ("--pairs", str(options.pairs))
    with tempfile.TemporaryDirectory() as folder:
        rounds = run_rounds(WAYS[options.ways], (options.corpus, *size), options.repeat, Path(folder))
    print(f"digsite generate {options.corpus} {' '.join(size)}, {options.repeat} rounds, load {os.getloadavg()[0]:.1f}")
    print(format_table(("", *Seconds._fields, "more", "ratio", "of seeds"), build_rows(rounds)))


if __name__ == "__main__":
    main()
