"""The same `digsite generate` in several ways, one after another in each round.

    python -m bench.ways prefect wiki --pairs 30 --repeat 3    without Prefect, with its own server, with one that runs
    python -m bench.ways engines wiki --seeds 120 --repeat 2   one worker of Dask, two, one process

Each way has an output folder, in which corpus, index and Prefect's database are there before the clock starts; a round
has a random seed of its own. All ways must leave the same bytes. Told are
medians over the rounds: seconds by the clock, in all, until the first seed begins, until the last one ends, and after
it; the processor's seconds of the command, without a server; and ratios to the first way in the same round, since other
work on the machine comes and goes.
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

from bench.common import median, table
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
SHORT = 3
"""Exit code of a command that ended with fewer pairs than wanted."""


class Took(NamedTuple):
    """Seconds of one command."""

    whole: float
    start: float
    seeds: float
    end: float
    cpu: float


def command(out: Path, *given: str, env: dict[str, str] | None = None) -> None:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_") and k != "PYTHONDONTWRITEBYTECODE"}
    words = [sys.executable, "-m", "pipeline.flow.main", *given, "--out", str(out), "--json"]
    done = subprocess.run(words, env=kept | (env or {}), capture_output=True, text=True, check=False)
    if done.returncode not in (0, SHORT):
        raise SystemExit(f"{' '.join(given)}: exit {done.returncode}: {done.stderr}")


def timed(out: Path, *given: str, env: dict[str, str] | None = None) -> Took:
    began, before = time.time(), _cpu()
    command(out, "generate", *given, env=env)
    ended, cpu = time.time(), _cpu() - before
    made = list(attempts.read(run_of(out)))
    first = min(datetime.fromisoformat(one.began).timestamp() for one in made)
    last = max(datetime.fromisoformat(one.began).timestamp() + one.seconds for one in made)
    return Took(ended - began, first - began, last - first, ended - last, cpu)


def _cpu() -> float:
    """Of all commands that have ended. A server is not waited for, so it is not among them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_of(out: Path) -> Path:
    """The latest."""
    return max((path.parent for path in out.glob("*/*/run.json")), key=lambda run: run.stat().st_mtime_ns).resolve()


def dataset(out: Path) -> dict[str, bytes]:
    folder = run_of(out) / "dataset"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def served(out: Path) -> dict[str, str]:
    """The settings that lead to a server of Prefect, which runs from now on."""
    server, before = Server(out / "server"), dict(os.environ)
    server.start(QUIET)
    found = {name: value for name, value in os.environ.items() if name.startswith("PREFECT_")}
    server.wait()
    os.environ.clear()
    os.environ.update(before)
    return found


def rounds(ways: dict[str, tuple[str, ...]], size: Sequence[str], repeat: int, home: Path) -> list[dict[str, Took]]:
    env = {RUNNING: served(home)} if RUNNING in ways else {}
    outs = {way: home / way.replace(" ", "-") for way in ways}
    for way, how in ways.items():
        command(outs[way], "generate", size[0], "--seeds", "1", *how, env=env.get(way))
    found = []
    for number in range(1, repeat + 1):
        given = (*size, "--seed", str(number))
        found.append({way: timed(outs[way], *given, *how, env=env.get(way)) for way, how in ways.items()})
        first, *others = [dataset(out) for out in outs.values()]
        if any(other != first for other in others):
            raise SystemExit("not all ways made the same bytes")
    return found


def rows(found: Sequence[dict[str, Took]]) -> list[tuple[str, ...]]:
    """Of each way: the figures of `Took`, seconds more than the first way, and ratios to it within a round."""
    base = next(iter(found[0]))
    told = []
    for way in found[0]:
        figures = [median([getattr(one[way], part) for one in found]) for part in Took._fields]
        more = median([one[way].whole - one[base].whole for one in found])
        ratios = [median([getattr(one[way], p) / getattr(one[base], p) for one in found]) for p in ("whole", "seeds")]
        told.append((way, *(f"{one:.1f}" for one in figures), f"{more:+.1f}", *(f"{one:.2f}" for one in ratios)))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", choices=WAYS)
    parser.add_argument("corpus", nargs="?", default="wiki")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seeds", type=int, help="so many seeds instead")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    number = ("--seeds", str(given.seeds)) if given.seeds else ("--pairs", str(given.pairs))
    with tempfile.TemporaryDirectory() as folder:
        found = rounds(WAYS[given.ways], (given.corpus, *number), given.repeat, Path(folder))
    print(f"digsite generate {given.corpus} {' '.join(number)}, {given.repeat} rounds, load {os.getloadavg()[0]:.1f}")
    print(table(("", *Took._fields, "more", "ratio", "of seeds"), rows(found)))


if __name__ == "__main__":
    main()
