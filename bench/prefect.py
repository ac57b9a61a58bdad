"""What Prefect costs a command: `python -m bench.prefect [CORPUS] [--pairs 30 | --seeds N] [--repeat 3] [--json]`.

The same `digsite generate` in three ways, one after another in each round: without Prefect, with a server of its own,
and on a server that runs already. Each way has an output folder, in which corpus, index and Prefect's database are
there before the clock starts; a round has a random seed of its own. Told are medians over the rounds of seconds by the
clock and of CPU time, and of their ratios to the same round without Prefect; `--fresh` times first commands, in empty
folders. CPU time is that of the command without the server, and hardly depends on what else the machine does.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.common import median, table
from pipeline.flow.server import QUIET, Server

WITHOUT, OWN, RUNNING = "without Prefect", "a server of its own", "a running server"
WAYS = (WITHOUT, OWN, RUNNING)
SHORT = 3
"""Exit code of a command that ended with fewer pairs than wanted."""


class Took(NamedTuple):
    """One command."""

    seconds: float
    cpu: float


class Cost(NamedTuple):
    """Of one way: medians over the rounds."""

    seconds: float
    more: float
    """Seconds more than without Prefect."""
    ratio: float
    cpu: float
    cpu_ratio: float


def costs(rounds: Sequence[dict[str, Took]]) -> dict[str, Cost]:
    """By way, from what each way took in each round: compared within a round, since other work comes and goes."""
    return {
        way: Cost(
            median([one[way].seconds for one in rounds]),
            median([one[way].seconds - one[WITHOUT].seconds for one in rounds]),
            median([one[way].seconds / one[WITHOUT].seconds for one in rounds]),
            median([one[way].cpu for one in rounds]),
            median([one[way].cpu / one[WITHOUT].cpu for one in rounds]),
        )
        for way in WAYS
    }


def command(way: str, size: Sequence[str], out: Path, seed: int, server: dict[str, str]) -> Took:
    """What one command took."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_") and k != "PYTHONDONTWRITEBYTECODE"}
    given = [*size, "--seed", str(seed), "--out", str(out), "--json", *(["--no-flow"] if way == WITHOUT else [])]
    began, before = time.monotonic(), _cpu()
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.flow.main", "generate", *given],
        env=kept | (server if way == RUNNING else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, SHORT):
        raise SystemExit(f"{way}: exit {done.returncode}: {done.stderr}")
    return Took(time.monotonic() - began, _cpu() - before)


def _cpu() -> float:
    """Seconds of all commands that have ended. A server is not waited for, so it is not among them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(corpus: str, size: Sequence[str], repeat: int, out: Path, *, fresh: bool = False) -> dict[str, Cost]:
    running = Server(out / "server")
    before = dict(os.environ)
    running.start(QUIET)
    server = {name: value for name, value in os.environ.items() if name.startswith("PREFECT_")}
    running.wait()
    os.environ.clear()
    os.environ.update(before)

    def folder(way: str, number: int) -> Path:
        return out / way.replace(" ", "-") / (str(number) if fresh else "")

    if not fresh:
        for way in WAYS:
            command(way, [corpus, "--seeds", "1"], folder(way, 0), 0, server)
    return costs(
        [{way: command(way, [corpus, *size], folder(way, n), n, server) for way in WAYS} for n in range(1, repeat + 1)]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", nargs="?", default="wiki")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seeds", type=int, help="so many seeds instead, as for a corpus too small for the pairs")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    size = ["--seeds", str(given.seeds)] if given.seeds else ["--pairs", str(given.pairs)]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(given.corpus, size, given.repeat, Path(folder), fresh=given.fresh)
    if given.json:
        print(json.dumps({way: cost._asdict() for way, cost in found.items()}))
        return
    print(f"digsite generate {given.corpus} {' '.join(size)}, {given.repeat} rounds, load {os.getloadavg()[0]:.1f}")
    rows = [
        (way, f"{c.seconds:.1f}", f"{c.more:+.1f}", f"{c.ratio:.2f}", f"{c.cpu:.1f}", f"{c.cpu_ratio:.2f}")
        for way, c in found.items()
    ]
    print(table(("", "seconds", "more", "ratio", "CPU", "ratio"), rows))


if __name__ == "__main__":
    main()
