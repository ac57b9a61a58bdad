"""How quick `digsite view` is over many records: `python -m bench.view [--records 100000] [--folder PLACE]`.

The run is synthetic: records of the tests' country of every kind, each with a key, a draw and a question of its own, in
one journal, with the table of seeds that an export leaves. It is served by `digsite view` in a process of its own and
asked over HTTP as a browser asks. Times are medians by the clock; the first page is asked once the server listens,
while it still reads through the journal. Memory is the most that the system counted for the process.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
import orjson
import polars as pl

from bench.common import median, table
from pipeline.analysis import seed_rows as seeds
from pipeline.analysis import seed_table
from pipeline.config import RunConfig, build
from pipeline.run import publish, resume
from pipeline.store.journal import Head, RunIdentity
from pipeline.types import Record
from tests.records import batch

TIMES, MEMORY = 5, 2**30
PROMISED = {"first page": 1.0, "filter": 1.0, "item": 0.3}
"""Seconds."""
FILTERS = (
    "?status=accepted",
    "?reason=superficial&sort=-tokens",
    "?q=suspension+bridge",
    "?steps_min=3&rate_max=0.75&sort=-rate",
    "?status=rejected&target=3&page=200",
    "?back=1:superficial",
)


class Pattern:
    """A record and its row, from which others are made by their key, draw and question."""

    def __init__(self, record: Record, run: RunIdentity) -> None:
        self._record, self._run, self._body = record, run, record.model_dump_json().encode()
        self._row = seeds.row(record)
        self._question = record.draft.question if record.draft else ""

    def key(self, n: int) -> str:
        return self._run.key(self._record.seed.passage.id, n)

    def line(self, n: int) -> bytes:
        """Of the journal."""
        seed, body = self._record.seed, self._body.replace(self._record.key.encode(), self.key(n).encode())
        body = body.replace(b'"draw":%d' % seed.draw, b'"draw":%d' % n, 1)
        if self._question:
            body = body.replace(orjson.dumps(self._question), orjson.dumps(self._asked(n)))
        status, reason = self._record.status, self._record.reason
        head = Head(key=self.key(n), order=order(n), status=status, reason=reason, target_steps=seed.target_steps)
        line = b'"head":%b,"record":%b}' % (orjson.dumps(head), body)
        return b'{"sha256":"%b",%b\n' % (hashlib.sha256(line).hexdigest().encode(), line)

    def row(self, n: int) -> seeds.Row:
        question = {"question": self._asked(n)} if self._question else {}
        return (
            self._row | {"key": self.key(n), "draw": n, "plan_order": order(n), "journal_file": "main.jsonl"} | question
        )

    def _asked(self, n: int) -> str:
        return f"{self._question.removesuffix('?')}, case {n}?"


def order(n: int) -> str:
    return f"000000-{n:012}"


def synthetic(out: Path, count: int) -> Path:
    """The folder of a run of so many seeds, with its table."""
    config: RunConfig = build(values={"corpus": {"name": "tiny"}, "runtime": {"out": out, "seeds": count}})
    folder = config.folder()
    resume.begin(folder, config, "fingerprint")
    (folder / "journal").mkdir()
    (folder / "dataset").mkdir()
    run = RunIdentity(config.digest(), "fingerprint")
    patterns = [Pattern(record, run) for record in batch(240)]
    with (folder / "journal" / "main.jsonl").open("wb") as journal:
        for n in range(count):
            journal.write(patterns[n % len(patterns)].line(n))
    source = publish.source(folder, config, [(patterns[n % len(patterns)].key(n), "main.jsonl") for n in range(count)])
    with seed_table.SeedTable(folder / "dataset" / seed_table.NAME, source) as written:
        for n in range(count):
            written.add(patterns[n % len(patterns)].row(n))
        written.close()
    return folder


class Server(NamedTuple):
    """`digsite view` over a run."""

    process: int
    client: httpx2.Client

    def seconds(self, path: str) -> float:
        began = time.perf_counter()
        self.client.get(path).raise_for_status()
        return time.perf_counter() - began

    def memory(self) -> int:
        """The most bytes so far."""
        lines = Path(f"/proc/{self.process}/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) << 10


@contextmanager
def serve_view(folder: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "pipeline.cli", "view", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        with httpx2.Client(base_url=process.stdout.readline().strip(), timeout=120, follow_redirects=True) as client:
            yield Server(process.pid, client)
    finally:
        process.terminate()
        process.wait()


def measure_view(folder: Path, records: int) -> tuple[dict[str, list[float]], int]:
    """Seconds by what was asked, and bytes of memory."""
    firsts = []
    for _ in range(TIMES - 1):
        with serve_view(folder) as server:
            firsts.append(server.seconds("/"))
    with serve_view(folder) as server:
        firsts.append(server.seconds("/"))
        run = "/" + str(server.client.get("/").url).split("/")[3]
        keys = pl.read_parquet(folder / "dataset" / seed_table.NAME, columns=["key"])["key"]
        items = [f"{run}/items/{keys[n * 997 % records]}" for n in range(3 * TIMES)]
        server.seconds(items[-1])  # by then it has passed over the whole journal
        found = {"first page": firsts, "filter": [server.seconds(f"{run}/items{one}") for one in FILTERS]}
        return found | {"item": [server.seconds(item) for item in items]}, server.memory()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="Where the run is kept for another time.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        place = asked.folder or Path(home)
        kept = sorted(place.glob("tiny/*/dataset/seeds.parquet"))
        folder = kept[0].parents[1] if kept else synthetic(place, asked.records)
        found, memory = measure_view(folder, asked.records)
    rows = [(name, f"{median(took):.3f}", f"{max(took):.3f}", PROMISED[name]) for name, took in found.items()]
    print(table(("asked", "median s", "most s", "promised s"), rows))
    print(f"memory {memory / 2**20:,.0f} MiB at most")
    broken = [name for name, took in found.items() if median(took) > PROMISED[name]]
    broken += ["memory"] if memory > MEMORY else []
    print(f"BROKEN: {', '.join(broken)}" if broken else "kept")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
