"""Measure how fast `digsite view` is over many records: `python -m bench.view [--records 100000] [--folder FOLDER]`.

The run is synthetic: records of every kind from the tests, each with its own key, draw and question, in one journal,
with the table of seeds that an export writes. `digsite view` serves it in its own process and gets the requests of a
browser. Times are wall-clock medians; the first page is requested as soon as the server listens, while it still reads
through the journal. Memory is the peak that the system counted for the process.
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

from bench.common import format_table, median
from pipeline.analysis import seed_rows, seed_table
from pipeline.config import RunConfig, build
from pipeline.run import publish, resume
from pipeline.store.journal import Head, RunIdentity
from pipeline.types import Record
from tests.records import batch

REPEAT, MAX_MEMORY = 5, 2**30
MAX_SECONDS = {"first page": 1.0, "filter": 1.0, "item": 0.3}
FILTERS = (
    "?status=accepted",
    "?reason=superficial&sort=-tokens",
    "?q=suspension+bridge",
    "?steps_min=3&rate_max=0.75&sort=-rate",
    "?status=rejected&target=3&page=200",
    "?back=1:superficial",
)


class Pattern:
    """A record and its row, copied with another key, draw and question."""

    def __init__(self, record: Record, run: RunIdentity) -> None:
        self._record, self._run, self._body = record, run, record.model_dump_json().encode()
        self._row = seed_rows.row(record)
        self._question = record.draft.question if record.draft else ""

    def key(self, n: int) -> str:
        return self._run.key(self._record.seed.passage.id, n)

    def journal_line(self, n: int) -> bytes:
        seed, body = self._record.seed, self._body.replace(self._record.key.encode(), self.key(n).encode())
        body = body.replace(b'"draw":%d' % seed.draw, b'"draw":%d' % n, 1)
        if self._question:
            body = body.replace(orjson.dumps(self._question), orjson.dumps(self._build_question(n)))
        status, reason = self._record.status, self._record.reason
        head = Head(key=self.key(n), order=plan_order(n), status=status, reason=reason, target_steps=seed.target_steps)
        line = b'"head":%b,"record":%b}' % (orjson.dumps(head), body)
        return b'{"sha256":"%b",%b\n' % (hashlib.sha256(line).hexdigest().encode(), line)

    def row(self, n: int) -> seed_rows.Row:
        question = {"question": self._build_question(n)} if self._question else {}
        place = {"key": self.key(n), "draw": n, "plan_order": plan_order(n), "journal_file": "main.jsonl"}
        return self._row | place | question

    def _build_question(self, n: int) -> str:
        return f"{self._question.removesuffix('?')}, case {n}?"


def plan_order(n: int) -> str:
    return f"000000-{n:012}"


def build_run(out: Path, count: int) -> Path:
    """Write a run of so many seeds with its table, and return its folder."""
    config: RunConfig = build(values={"corpus": {"name": "tiny"}, "runtime": {"out": out, "seeds": count}})
    folder = config.folder()
    resume.begin(folder, config, "fingerprint")
    (folder / "journal").mkdir()
    (folder / "dataset").mkdir()
    run = RunIdentity(config.digest(), "fingerprint")
    patterns = [Pattern(record, run) for record in batch(240)]
    with (folder / "journal" / "main.jsonl").open("wb") as journal:
        for n in range(count):
            journal.write(patterns[n % len(patterns)].journal_line(n))
    source = publish.source(folder, config, [(patterns[n % len(patterns)].key(n), "main.jsonl") for n in range(count)])
    with seed_table.SeedTable(folder / "dataset" / seed_table.NAME, source) as rows:
        for n in range(count):
            rows.add(patterns[n % len(patterns)].row(n))
        rows.close()
    return folder


class Server(NamedTuple):
    """A process of `digsite view`."""

    process: int
    client: httpx2.Client

    def time_request(self, path: str) -> float:
        start = time.perf_counter()
        self.client.get(path).raise_for_status()
        return time.perf_counter() - start

    def peak_memory(self) -> int:
        """Return the peak in bytes."""
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
    """Return the seconds by kind of request, and the bytes of memory."""
    firsts = []
    for _ in range(REPEAT - 1):
        with serve_view(folder) as server:
            firsts.append(server.time_request("/"))
    with serve_view(folder) as server:
        firsts.append(server.time_request("/"))
        run = "/" + str(server.client.get("/").url).split("/")[3]
        keys = pl.read_parquet(folder / "dataset" / seed_table.NAME, columns=["key"])["key"]
        items = [f"{run}/items/{keys[n * 997 % records]}" for n in range(3 * REPEAT)]
        server.time_request(items[-1])  # after this the server has read the entire journal
        filters = [server.time_request(f"{run}/items{query}") for query in FILTERS]
        seconds = {"first page": firsts, "filter": filters, "item": [server.time_request(item) for item in items]}
        return seconds, server.peak_memory()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="Keep the synthetic run here, and reuse it.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        parent = options.folder or Path(home)
        tables = sorted(parent.glob("tiny/*/dataset/seeds.parquet"))
        folder = tables[0].parents[1] if tables else build_run(parent, options.records)
        times, memory = measure_view(folder, options.records)
    rows = [(name, f"{median(each):.3f}", f"{max(each):.3f}", MAX_SECONDS[name]) for name, each in times.items()]
    print(format_table(("request", "median s", "most s", "limit s"), rows))
    print(f"peak memory {memory / 2**20:,.0f} MiB")
    slow = [name for name, each in times.items() if median(each) > MAX_SECONDS[name]]
    broken = [*slow, "memory"] if memory > MAX_MEMORY else slow
    print(f"over the limit: {', '.join(broken)}" if broken else "within all limits")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
