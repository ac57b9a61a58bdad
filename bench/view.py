"""How quick `digsite view` is over many records: `python -m bench.view [--records 100000] [--folder PLACE]`.

The run is synthetic: records of the tests' country of every kind, each with a key, a draw and a question of its own, in
one journal, with the table of seeds that an export leaves. It is served by `digsite view` in a process of its own and
asked over HTTP as a browser asks. Times are medians by the clock; the first page is asked once the server listens,
while it still reads through the journal. Memory is the most that the system counted for the process.
"""

import argparse
import hashlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import orjson

from bench.common import table
from pipeline.config import RunConfig, build
from pipeline.dataset import seed_table, seeds
from pipeline.run import publish, resume
from pipeline.store.journal import Head
from pipeline.types import Record, sha256
from tests.records import batch

PAGE_SECONDS, ITEM_SECONDS, MEMORY = 1.0, 0.3, 2**30
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

    def __init__(self, record: Record) -> None:
        self._record, self._body = record, record.model_dump_json().encode()
        self._row = seeds.row(record)
        self._question = record.draft.question if record.draft else ""

    def made(self, n: int) -> tuple[str, bytes, seeds.Row]:
        """Key, line of the journal and row of the n-th."""
        record, key, order = self._record, sha256(f"synthetic {n}"), f"000000-{n:012}"
        question = f"{self._question.removesuffix('?')}, case {n}?" if self._question else ""
        body = self._body.replace(record.key.encode(), key.encode())
        body = body.replace(b'"draw":%d' % record.seed.draw, b'"draw":%d' % n, 1)
        if question:
            body = body.replace(orjson.dumps(self._question), orjson.dumps(question))
        head = Head(
            key=key, order=order, status=record.status, reason=record.reason, target_steps=record.seed.target_steps
        )
        line = b'"head":%b,"record":%b}' % (orjson.dumps(head), body)
        row = {**self._row, "key": key, "draw": n, "plan_order": order, "journal_file": "main.jsonl"}
        return (
            key,
            b'{"sha256":"%b",%b\n' % (hashlib.sha256(line).hexdigest().encode(), line),
            row | ({"question": question} if question else {}),
        )


def synthetic(out: Path, count: int) -> Path:
    """The folder of a run of so many seeds, with its table."""
    config: RunConfig = build(values={"corpus": {"name": "tiny"}, "how": {"out": out, "seeds": count}})
    folder = config.folder()
    resume.begin(folder, config, "fingerprint")
    (folder / "journal").mkdir()
    (folder / "dataset").mkdir()
    patterns = [Pattern(record) for record in batch(240)]

    def lines() -> Iterator[tuple[str, bytes, seeds.Row]]:
        return (patterns[n % len(patterns)].made(n) for n in range(count))

    keys = []
    with (folder / "journal" / "main.jsonl").open("wb") as journal:
        for key, line, _ in lines():
            journal.write(line)
            keys.append((key, "main.jsonl"))
    path = folder / "dataset" / seed_table.NAME
    with seed_table.SeedTable(path, publish.source(folder, config, keys)) as written:
        for _, _, row in lines():
            written.add(row)
        written.close()
    return folder


class Server:
    """`digsite view` over a run."""

    def __init__(self, folder: Path) -> None:
        self._began = time.perf_counter()
        command = [sys.executable, "-m", "pipeline.cli", "view", str(folder), "--port", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        url = self._process.stdout.readline().strip()
        self.listening = time.perf_counter() - self._began
        self.client = httpx2.Client(base_url=url, timeout=120, follow_redirects=True)

    def seconds(self, path: str) -> float:
        began = time.perf_counter()
        answer = self.client.get(path)
        answer.raise_for_status()
        return time.perf_counter() - began

    def memory(self) -> tuple[int, int]:
        """The most bytes so far, and those now that are not pages of files."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8").splitlines()
        kept = {line.partition(":")[0]: line.split()[1] for line in lines if line.startswith(("VmHWM", "RssAnon"))}
        return int(kept["VmHWM"]) << 10, int(kept["RssAnon"]) << 10

    def close(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait()


def measured(folder: Path, records: int, times: int) -> list[tuple[str, list[float], float]]:
    """What was asked, the seconds it took, and how many it may take; 0 where nothing was promised."""
    firsts: list[float] = []
    for _ in range(times - 1):
        server = Server(folder)
        firsts.append(server.seconds("/"))
        server.close()
    server = Server(folder)
    try:
        firsts.append(server.seconds("/"))
        slug = str(server.client.get("/").url).split("/")[3]
        keys = [sha256(f"synthetic {n * 997 % records}") for n in range(3 * times)]
        asked: list[tuple[str, float, Callable[[], Any]]] = [
            ("filter, new", PAGE_SECONDS, lambda: [server.seconds(f"/{slug}/items{one}") for one in FILTERS]),
            ("filter, again", PAGE_SECONDS, lambda: [server.seconds(f"/{slug}/items{one}") for one in FILTERS]),
            ("item", ITEM_SECONDS, lambda: [server.seconds(f"/{slug}/items/{key}") for key in keys]),
            ("overview", 0, lambda: [server.seconds(f"/{slug}/overview")]),
            ("review", 0, lambda: [server.seconds(f"/{slug}/review?by=bench") for _ in range(times)]),
        ]
        found = [("first page", firsts, PAGE_SECONDS)]
        # The server has passed over the journal once it finds the last record.
        server.seconds(f"/{slug}/items/{keys[-1]}")
        found += [(name, ask(), most) for name, most, ask in asked]
        most, anonymous = server.memory()
        print(f"memory {most / 2**20:,.0f} MiB at most, {anonymous / 2**20:,.0f} MiB of it now not of files")
        if most > MEMORY:
            print("BROKEN: more than 1 GiB")
    finally:
        server.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="Where the run is kept for another time.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        place = asked.folder or Path(home)
        kept = sorted(place.glob("tiny/*/dataset/seeds.parquet"))
        folder = kept[0].parents[1] if kept else synthetic(place, asked.records)
        size = (folder / "journal" / "main.jsonl").stat().st_size
        print(f"{asked.records:,} records, journal of {size / 2**20:,.0f} MiB")
        found = measured(folder, asked.records, asked.times)
    rows = [
        (name, len(took), f"{statistics.median(took):.3f}", f"{max(took):.3f}", f"{most:.1f}" if most else "")
        for name, took, most in found
    ]
    print(table(("asked", "times", "median s", "most s", "promised s"), rows))
    broken = [name for name, took, most in found if most and statistics.median(took) > most]
    print(f"BROKEN: {', '.join(broken)}" if broken else "kept")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
