"""What a corpus costs by its size: `python -m bench.corpus_size [CORPUS[*COPIES[/CHARACTERS]] ...] [--out FOLDER]`.

A corpus is prepared and indexed in a process of its own; a second process opens both, as a second command does, draws
seeds and searches for each; a third generates five pairs with the demo model. Of `wiki-196k.jsonl.xz*6` six copies are
read: each but the first has other ids and titles, and a sentence more; of `wiki-196k.jsonl.xz*27/100` 27 copies of the
first 100 characters of each text.

Memory is the most that the system counted for the process (and for the one that cuts its documents), with pages of
mapped files, which it may drop, and without them; what Java kept for its heap stands beside it.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

from bench.common import table

PAIRS = 5
CORPORA = (
    "corpora/wiki-25k.jsonl.zst",
    "../shared/corpora/wiki-196k.jsonl.xz",
    "../shared/corpora/wiki-196k.jsonl.xz*6",
)


def copies(rows: Iterator[Any], number: int, most: int | None) -> Iterator[Any]:
    """Each row with another id and a text of its own."""
    for row in rows:
        values, text = dict(row.values), str(row.values["text"])[:most]
        values["text"] = text
        if number:
            values["id"], values["title"] = f"{values['id']}-{number}", f"{values['title']} {number}"
            values["text"] = f"{text} It is edition {number} of {values['title']}."
        yield row._replace(key=f"{row.key}-{number}", values=values)


def open_corpus(corpus: str, out: Path) -> Any:
    from pipeline.corpus import load, readers, resolve

    name, _, copied = corpus.partition("*")
    count, _, most = copied.partition("/")
    manifest = resolve(name)
    if count:
        real = readers.rows
        limits = manifest.limits.model_copy(update={"docs": 10**9, "bytes": 1 << 50})
        manifest = manifest.model_copy(update={"name": f"{manifest.name}-{copied.replace('/', '-')}", "limits": limits})

        def many(*given: Any) -> Iterator[Any]:
            return (row for number in range(int(count)) for row in copies(real(*given), number, int(most or 0) or None))

        readers.rows = many  # type: ignore[assignment]
        try:
            return load(manifest, out)
        finally:
            readers.rows = real
    return load(manifest, out)


def heap() -> float:
    """GiB that Java keeps for its heap."""
    from pipeline.corpus import jvm

    return float(jvm.call(lambda: jvm.java("java.lang.Runtime").getRuntime().totalMemory())) / 2**30


class Own(Thread):
    """The most memory of the process that is of no file, in GiB, looked at every 20 ms."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0
        self.start()

    def run(self) -> None:
        while True:
            self.most = max(self.most, status("RssAnon"))
            time.sleep(0.02)


def status(name: str) -> float:
    """GiB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[name].split()[0]) / 2**20


def cpu() -> float:
    """Seconds of this process, and of those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def prepare(corpus: str, out: Path, _: int) -> dict[str, float]:
    from pipeline.retrieval.engines.lucene import LuceneRetriever

    own, began = Own(), time.monotonic()
    loaded = open_corpus(corpus, out)
    preparing = cpu()
    beside = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    prepared, alone = time.monotonic(), status("VmHWM") + beside
    LuceneRetriever(loaded, out)
    ended = time.monotonic()
    return {
        "documents": len(loaded.documents), "passages": len(loaded.passages),
        "prepare s": prepared - began, "prepare CPU s": preparing, "index s": ended - prepared,
        "index CPU s": cpu() - preparing, "GiB to prepare": alone, "GiB in all": status("VmHWM") + beside,
        "of no file": own.most, "heap": heap(),
    }  # fmt: skip


def second(corpus: str, out: Path, seeds: int) -> dict[str, float]:
    from pipeline.config import build
    from pipeline.retrieval.engines.lucene import LuceneRetriever
    from pipeline.run.plan import Order, check_askable

    began = time.monotonic()
    loaded = open_corpus(corpus, out)
    corpus_open = time.monotonic()
    retriever = LuceneRetriever(loaded, out)
    check_askable(loaded)
    order = Order(build(), loaded)
    asyncio.run(retriever.search(order[0].seed.passage.title, 5))
    first = time.monotonic()
    for number in range(1, seeds):
        asyncio.run(retriever.search(order[number].seed.passage.text[:200], 5))
    each = (time.monotonic() - first) / max(1, seeds - 1)
    return {
        "open s": corpus_open - began, "first seed s": first - began, "ms a seed": 1000 * each,
        "GiB opened": status("VmHWM"),
    }  # fmt: skip


def generate(corpus: str, out: Path, _: int) -> dict[str, float]:
    from pipeline import api
    from pipeline.config import build
    from pipeline.run import prepare as preparing

    own, loaded = Own(), open_corpus(corpus, out)
    preparing.corpus = lambda *_, **__: loaded
    config = build(values={"corpus": {"name": corpus.partition("*")[0]}, "runtime": {"out": str(out), "pairs": PAIRS}})
    began = time.monotonic()
    api.generate(config)
    return {
        f"{PAIRS} pairs s": time.monotonic() - began, f"GiB for {PAIRS} pairs": status("VmHWM"),
        f"of no file for {PAIRS} pairs": own.most, f"heap for {PAIRS} pairs": heap(),
    }  # fmt: skip


STEPS: dict[str, Callable[..., dict[str, float]]] = {"prepare": prepare, "second": second, "generate": generate}


def format_value(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="*", default=CORPORA)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        print(json.dumps(STEPS[given.step](given.corpora[0], given.out, given.seeds)))
        return
    rows = list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(dir=given.out) as folder:
        for corpus in given.corpora:
            row: dict[str, Any] = {"corpus": Path(corpus).name}
            for step in STEPS:
                words = [corpus, "--out", folder, "--seeds", str(given.seeds), "--step", step]
                command = [sys.executable, "-m", "bench.corpus_size", *words]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
                row |= json.loads(done.stdout.splitlines()[-1])
            rows.append(row | {"load": os.getloadavg()[1]})
            print(*map(format_value, rows[-1].values()), sep="  ", file=sys.stderr, flush=True)
    print(
        table(
            ["", *(row["corpus"] for row in rows)], [[n, *(format_value(row[n]) for row in rows)] for n in rows[0]][1:]
        )
    )


if __name__ == "__main__":
    main()
