"""Who runs the seeds: `python -m bench.engines [CORPUS] [--seeds 200] [--repeat 3] [--json]`.

The same `digsite generate` with the demo model in one process, with one worker of Dask and with two, one after another
in each round; and once as four shards that are merged. All must leave the same bytes. Told are medians over the rounds
of seconds by the clock: in all, until the first seed begins, from there until the last one ends, and after it; and the
ratio of the middle part to that of one worker in the same round. Then a profile of one batch, by packages.
"""

import argparse
import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from bench.common import median, table
from pipeline.config import build
from pipeline.run import LogWatch, attempts, prepare, worker
from pipeline.run.job import Job
from pipeline.run.worker import Batch

ONE_PROCESS, ONE_WORKER, TWO_WORKERS = "one process", "1 worker", "2 workers"
ENGINES = {
    ONE_PROCESS: ("--no-flow",),
    ONE_WORKER: ("--engine", "dask", "--workers", "1"),
    TWO_WORKERS: ("--engine", "dask", "--workers", "2"),
}
SHARDS = 4


class Phases(NamedTuple):
    """Seconds of a command."""

    whole: float
    before: float
    """Until the first seed begins."""
    seeds: float
    """From the begin of the first seed to the end of the last."""
    after: float


def command(out: Path, *given: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.flow.main", *given, "--out", str(out), "--json"],
        env={name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(given)}: exit {done.returncode}: {done.stderr}")


def run_of(out: Path) -> Path:
    return next(path.parent for path in sorted(out.glob("*/*/run.json")) if not path.parent.is_symlink())


def phases(out: Path, *given: str) -> Phases:
    began = time.time()
    command(out, "generate", *given)
    ended = time.time()
    made = list(attempts.read(run_of(out)))
    first = min(datetime.fromisoformat(one.began).timestamp() for one in made)
    last = max(datetime.fromisoformat(one.began).timestamp() + one.seconds for one in made)
    return Phases(ended - began, first - began, last - first, ended - last)


def dataset(out: Path) -> dict[str, bytes]:
    folder = run_of(out) / "dataset"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rounds(corpus: str, seeds: int, repeat: int, home: Path) -> list[dict[str, Phases]]:
    found = []
    for number in range(repeat):
        size = (corpus, "--seeds", str(seeds), "--seed", str(number))
        outs = {name: home / f"{number}-{name.replace(' ', '-')}" for name in ENGINES}
        for out in outs.values():
            # Corpus and index are there before the clock starts.
            command(out, "search", corpus, "who was it")
        found.append({name: phases(outs[name], *size, *how) for name, how in ENGINES.items()})
        if not dataset(outs[ONE_PROCESS]) == dataset(outs[ONE_WORKER]) == dataset(outs[TWO_WORKERS]):
            raise SystemExit("the engines made other bytes than one process")
    return found


def shards(corpus: str, seeds: int, home: Path) -> None:
    """Raises SystemExit where the shards, merged, are not the bytes of one process."""
    size = (corpus, "--seeds", str(seeds), "--seed", "0", "--no-flow")
    out = home / "shards"
    for number in range(1, SHARDS + 1):
        command(out, "generate", *size, "--shard", f"{number}/{SHARDS}")
    digest = run_of(home / "0-one-process").name
    command(out, "merge", f"{corpus}/{digest}")
    merged = out / corpus / digest / "dataset"
    made = {path.relative_to(merged).as_posix(): path.read_bytes() for path in merged.rglob("*") if path.is_file()}
    if made != dataset(home / "0-one-process"):
        raise SystemExit(f"{SHARDS} shards, merged, made other bytes than one process")


def profile(corpus: str, seeds: int, home: Path) -> dict[str, float]:
    """Seconds of one batch by the package that spent them, in this process."""
    config = build(values={"corpus": {"name": corpus}, "how": {"out": str(home / "0-one-process")}})
    job = Job(config, LogWatch(), home / "profile")
    job.read()
    batch = Batch(
        name="b", config=config, code=worker.code(), fingerprint=job.corpus.fingerprint, answers=home, machine="",
        known=prepare.answers(config), places=tuple(f"000000-{place:012}" for place in range(seeds)),
    )  # fmt: skip
    asked = batch.model_dump_json().encode()
    worker.respond(asked)  # what is opened once is open
    spent: Counter[str] = Counter()
    loop_profile = cProfile.Profile()
    worker._loop().call_soon_threadsafe(loop_profile.enable)
    began = time.perf_counter()
    worker.respond(asked)
    whole = time.perf_counter() - began
    worker._loop().call_soon_threadsafe(loop_profile.disable)
    time.sleep(0.1)
    for (file, _, name), (_, _, own, _, _) in pstats.Stats(loop_profile).stats.items():  # type: ignore[attr-defined]
        if "poll" in name:  # the loop waits
            continue
        parts = Path(file).parts
        package = parts[parts.index("pipeline") + 1] if "pipeline" in parts else "libraries and built-ins"
        spent[package.removesuffix(".py")] += own
    return {**dict(spent.most_common(8)), "by the clock": whole}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", nargs="?", default="wiki")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = rounds(given.corpus, given.seeds, given.repeat, Path(folder))
        shards(given.corpus, given.seeds, Path(folder))
        parts = profile(given.corpus, min(given.seeds, 32), Path(folder))
    told = {
        name: {
            **{part: median([getattr(one[name], part) for one in found]) for part in Phases._fields},
            "ratio": median([one[name].seeds / one[ONE_WORKER].seeds for one in found]),
        }
        for name in ENGINES
    }
    if given.json:
        print(json.dumps({"engines": told, "profile": parts}))
        return
    print(
        f"digsite generate {given.corpus} --seeds {given.seeds}, {given.repeat} rounds, load {os.getloadavg()[0]:.1f}"
    )
    print(
        table(
            ("", *told[ONE_PROCESS]),
            [(name, *(f"{value:.2f}" for value in one.values())) for name, one in told.items()],
        )
    )
    print(f"the same bytes by all, and by {SHARDS} shards that were merged\n")
    print(table(("a batch", "seconds"), [(name, f"{seconds:.2f}") for name, seconds in parts.items()]))


if __name__ == "__main__":
    main()
