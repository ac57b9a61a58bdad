"""The command line in processes that a test kills, stops and starts again; and a look at what they leave."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow.parquet as pq

from pipeline.store.journal import Journal, encode

ROOT = Path(__file__).parents[2]
KEY = "sk-canary-4b1d0f9e7c"
CONCURRENCY = 16
CHEAP = (
    "--retriever bm25 --steps 1 --no-flow --json --set loop.rounds=0 --set loop.audit=false --set loop.rollouts=2 "
    f"--set checks.enabled=[] --concurrency {CONCURRENCY}"
).split()
"""About six calls a seed, and a third of the seeds accepted."""


def over(url: str) -> list[str]:
    """Options that send all calls to the endpoint at `url`."""
    limits = f"--set models.default.limits.concurrency={CONCURRENCY} --set models.default.limits.timeout_seconds=300"
    model = f"--model openai:embedded --base-url {url} --set models.default.api_key_env=CANARY_KEY"
    # What goes into no file of a key goes into none of a header and a query either.
    more = "--set models.default.headers.x-gateway=${CANARY_KEY} --set models.default.query.code=${CANARY_KEY}"
    return f"{model} {more} {limits}".split()


def start(
    out: Path, *arguments: str, through: tuple[str, ...] = ("pipeline.cli",), corpus: str = "tiny"
) -> subprocess.Popen[str]:
    """`digsite generate CORPUS --out OUT` with the arguments; `through` may be another module, with its own.

    All that it starts can be found by `orphans`.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    pipe = subprocess.PIPE
    # The model that guesses languages is unpacked into a temporary file, which a small disk has no room for.
    temporary = out.parents[1] if out.parent.is_mount() else out.parent
    return subprocess.Popen(
        [sys.executable, "-m", *through, "generate", corpus, "--out", str(out), *arguments],
        cwd=ROOT,
        env={**environment, "CANARY_KEY": KEY, "CHAOS_TAG": str(out), "TMPDIR": str(temporary)},
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


def finished(process: subprocess.Popen[str], timeout: float = 900) -> str:
    """What it said on stderr; it must have ended well."""
    _, errors = process.communicate(timeout=timeout)
    assert process.returncode == 0, errors
    return errors


def until(reached: Callable[[], bool], process: subprocess.Popen[str], limit: float = 300) -> None:
    """Wait, while the process goes on."""
    end = time.monotonic() + limit
    while not reached() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)


def until_more(remains: "Remains", process: subprocess.Popen[str]) -> None:
    """Wait for another line of the journal."""
    before = remains.journal()
    until(lambda: remains.journal() > before, process)


def kill(process: subprocess.Popen[str]) -> bool:
    """Kill it with its threads and JVM; False where it had come to its end before."""
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


def processes(out: Path, doing: bytes = b"") -> list[int]:
    """All that a command of `start` began and itself, as far as a word is in their command lines; oldest first."""
    found: list[tuple[float, int]] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            tagged = f"CHAOS_TAG={out}".encode() in (process / "environ").read_bytes().split(b"\0")
            if tagged and doing in (process / "cmdline").read_bytes():
                found.append((process.stat().st_ctime, int(process.name)))
        except OSError:
            continue
    return [number for _, number in sorted(found)]


def orphans(out: Path) -> list[str]:
    """The command lines of all processes that a command of `start` began and left, as far as /proc shows them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"CHAOS_TAG={out}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


class Remains:
    """What the commands left in `out`. Every look checks that nothing is lost, doubled, changed or half there."""

    def __init__(self, out: Path) -> None:
        self.out, self.known = out, dict[str, bytes]()

    @property
    def run(self) -> Path:
        return next(
            (path.parent for path in self.out.glob("tiny/*/run.json") if not path.parent.is_symlink()), self.out
        )

    def journal(self) -> int:
        """Bytes of the journal."""
        return sum(path.stat().st_size for path in (self.run / "journal").glob("*.jsonl"))

    def look(self) -> None:
        journal = Journal(self.run / "journal")
        assert (journal.duplicates, journal.damaged) == (0, 0)
        assert journal.torn <= 1
        lines = {key: encode(entry.head, journal.read(key)) for key, entry in journal.entries.items()}
        assert lines.items() >= self.known.items()
        self.known = lines
        for name in ("run.json", "result.json"):
            if (self.run / name).exists():
                orjson.loads((self.run / name).read_bytes())
        self.shards()

    def shards(self) -> dict[str, bytes]:
        """The bytes of every shard, all of which can be read and are those of the manifest."""
        data = self.run / "dataset"
        if not data.exists():
            return {}
        named = {shard["path"] for shard in orjson.loads((data / "manifest.json").read_bytes())["shards"]}
        assert named | {"seeds.parquet"} == {path.relative_to(data).as_posix() for path in data.rglob("*.parquet")}
        for name in sorted(named):
            pq.ParquetFile(data / name).read()
        return {name: (data / name).read_bytes() for name in named}

    def whole(self, seeds: int) -> None:
        """The run has come to its end: each seed once, and nothing that a killed process began lies about."""
        self.look()
        raw = b"".join(path.read_bytes() for path in (self.run / "journal").iterdir())
        assert len(self.known) == seeds == raw.count(b"\n")
        assert not [path for pattern in ("*.incomplete", "*.old", ".*.tmp") for path in self.run.glob(pattern)]
        assert orphans(self.out) == []


def twice(answered: list[str]) -> int:
    """Of the requests that an endpoint answered, those that it had answered before."""
    return len(answered) - len(Counter(answered))
