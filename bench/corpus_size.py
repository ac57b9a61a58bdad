"""Measure the cost of a corpus by its size: `python -m bench.corpus_size [CORPUS[*COPIES[/CHARACTERS]] ...]`.

The first process prepares and indexes a corpus; a second one opens both, as the next command does, draws seeds and
searches for each; a third generates five pairs with the demo model. `wiki.jsonl.xz*6` reads six copies: each after the
first has other ids and titles, and one more sentence. `wiki.jsonl.xz*27/100` reads 27 copies of the first 100
characters of each text.

Memory is the peak that the system counted for the process and its children, with mapped pages, which it may drop.
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
from typing import Any

from bench.common import format_table

PAIRS = 5
CORPORA = ["corpora/wiki-25k.jsonl.zst"]


def copy_rows(rows: Iterator[Any], number: int, characters: int | None) -> Iterator[Any]:
    """Give each row another id and text."""
    for row in rows:
        values, text = dict(row.values), str(row.values["text"])[:characters]
        values["text"] = text
        if number:
            values["id"], values["title"] = f"{values['id']}-{number}", f"{values['title']} {number}"
            values["text"] = f"{text} It is edition {number} of {values['title']}."
        yield row._replace(key=f"{row.key}-{number}", values=values)


def open_corpus(corpus: str, out: Path) -> Any:
    from pipeline.corpus import load, readers, resolve

    name, _, size = corpus.partition("*")
    copies, _, characters = size.partition("/")
    manifest = resolve(name)
    if not copies:
        return load(manifest, out)
    real = readers.rows
    limits = manifest.limits.model_copy(update={"docs": 10**9, "bytes": 1 << 50})
    manifest = manifest.model_copy(update={"name": f"{manifest.name}-{size.replace('/', '-')}", "limits": limits})
    length = int(characters) if characters else None

    def read_copies(*arguments: Any) -> Iterator[Any]:
        return (row for number in range(int(copies)) for row in copy_rows(real(*arguments), number, length))

    readers.rows = read_copies  # type: ignore[assignment]
    try:
        return load(manifest, out)
    finally:
        readers.rows = real


def peak_gib() -> float:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) / 2**20


def cpu_seconds() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def prepare(corpus: str, out: Path, _: int) -> dict[str, float]:
    from pipeline.retrieval.engines.lucene import LuceneRetriever

    start = time.monotonic()
    loaded = open_corpus(corpus, out)
    prepare_cpu = cpu_seconds()
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    prepared, prepare_peak = time.monotonic(), peak_gib() + children
    LuceneRetriever(loaded, out)
    end = time.monotonic()
    return {
        "documents": len(loaded.documents), "passages": len(loaded.passages),
        "prepare s": prepared - start, "prepare CPU s": prepare_cpu, "index s": end - prepared,
        "index CPU s": cpu_seconds() - prepare_cpu, "GiB to prepare": prepare_peak, "GiB in all": peak_gib() + children,
    }  # fmt: skip


def reopen(corpus: str, out: Path, seeds: int) -> dict[str, float]:
    from pipeline.config import build
    from pipeline.retrieval.engines.lucene import LuceneRetriever
    from pipeline.run.plan import Order, check_askable

    start = time.monotonic()
    loaded = open_corpus(corpus, out)
    opened = time.monotonic()
    retriever = LuceneRetriever(loaded, out)
    check_askable(loaded)
    order = Order(build(), loaded)
    asyncio.run(retriever.search(order[0].seed.passage.title, 5))
    first = time.monotonic()
    for number in range(1, seeds):
        asyncio.run(retriever.search(order[number].seed.passage.text[:200], 5))
    per_seed = (time.monotonic() - first) / max(1, seeds - 1)
    return {
        "open s": opened - start, "first seed s": first - start, "ms a seed": 1000 * per_seed,
        "GiB opened": peak_gib(),
    }  # fmt: skip


def generate(corpus: str, out: Path, _: int) -> dict[str, float]:
    from pipeline import api
    from pipeline.config import build
    from pipeline.run import prepare as preparing

    loaded = open_corpus(corpus, out)
    preparing.corpus = lambda *_, **__: loaded
    config = build(values={"corpus": {"name": corpus.partition("*")[0]}, "runtime": {"out": str(out), "pairs": PAIRS}})
    start = time.monotonic()
    api.generate(config)
    return {f"{PAIRS} pairs s": time.monotonic() - start, f"GiB for {PAIRS} pairs": peak_gib()}


STEPS: dict[str, Callable[..., dict[str, float]]] = {"prepare": prepare, "reopen": reopen, "generate": generate}


def format_value(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="*", default=CORPORA)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        print(json.dumps(STEPS[options.step](options.corpora[0], options.out, options.seeds)))
        return
    rows = list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(dir=options.out) as folder:
        for corpus in options.corpora:
            row: dict[str, Any] = {"corpus": Path(corpus).name}
            for step in STEPS:
                words = [corpus, "--out", folder, "--seeds", str(options.seeds), "--step", step]
                command = [sys.executable, "-m", "bench.corpus_size", *words]
                process = subprocess.run(command, check=True, stdout=subprocess.PIPE)
                row |= json.loads(process.stdout.splitlines()[-1])
            rows.append(row | {"load": os.getloadavg()[1]})
            print(*map(format_value, rows[-1].values()), sep="  ", file=sys.stderr, flush=True)
    lines = [[name, *(format_value(row[name]) for row in rows)] for name in rows[0] if name != "corpus"]
    print(format_table(["", *(row["corpus"] for row in rows)], lines))


if __name__ == "__main__":
    main()
