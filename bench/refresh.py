"""Ten weekly versions of a corpus, refreshed: processor seconds and model calls beside a run from nothing.

    python -m bench.refresh CORPUS.jsonl.xz --documents 20000 --pairs 100 --weeks 10

Each week 2 % of the documents change, 1 % go and 1 % come. The demo model is used. Processor seconds are those of this
process and its children, by stage. The first run also starts Java; the run from nothing at the end does not.
"""

import argparse
import json
import lzma
import random
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pipeline
from bench.corpus_size import cpu_seconds
from pipeline.run import LogCallbacks, attempts, versions

CHANGED, GONE, NEW = 0.02, 0.01, 0.01
Article = dict[str, Any]


def read_articles(path: Path, count: int) -> list[Article]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, count)]


def edit(articles: list[Article], spare: list[Article], size: int, chance: random.Random) -> list[Article]:
    """Return the articles of the next week, in the same order, so that the same one of several duplicates is read."""
    gone = {article["id"] for article in chance.sample(articles, round(GONE * size))}
    remaining = [article for article in articles if article["id"] not in gone]
    changed = {article["id"] for article in chance.sample(remaining, round(CHANGED * size))}
    new_articles = [
        {**article, "text": f"{article['text']} Revised in week {chance.randrange(1000)}."}
        if article["id"] in changed
        else article
        for article in remaining
    ]
    return new_articles + [spare.pop() for _ in range(round(NEW * size))]


def write_articles(articles: Sequence[Article], path: Path) -> None:
    path.write_text("".join(f"{json.dumps(article)}\n" for article in articles), encoding="utf-8")


def build(path: Path, out: Path, pairs: int) -> pipeline.RunConfig:
    values = {
        "corpus": {"name": str(path)},
        "steps": [1, 2],
        "loop": {"rounds": 0},
        "runtime": {"pairs": pairs, "out": out},
    }
    return pipeline.build(values=values)


class StageClock(LogCallbacks):
    """Adds up the processor seconds of each column of the table."""

    COLUMNS: Mapping[str, str] = MappingProxyType(
        {
            "reading the corpus": "texts",
            "opening the index and the links": "index",
            "carrying pairs over": "carry",
            "running seeds": "seeds",
            "exporting": "export",
            "writing the report": "export",
        }
    )

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(self.COLUMNS.values(), 0.0)
        self._column, self._since = "texts", cpu_seconds()

    def stage(self, name: str) -> None:
        now = cpu_seconds()
        self.seconds[self._column] += now - self._since
        self._column, self._since = self.COLUMNS[name], now


def measure(config: pipeline.RunConfig) -> list[object]:
    clock, started_at = StageClock(), time.monotonic()
    result = pipeline.generate(config, watch=clock)
    seconds = time.monotonic() - started_at
    clock.stage("writing the report")
    paid = attempts.total_spending(result.folder).total.paid
    version = versions.read_version(result.folder)
    summary = version.summary if version else None
    fate = (summary.carried, summary.stale, sum(summary.dropped.values())) if summary else ("–", "–", "–")
    stages = [f"{value:.1f}" for value in clock.seconds.values()]
    total = f"{sum(clock.seconds.values()):.0f}"
    return [*stages, total, f"{seconds:.0f}", f"{paid.calls:,}", f"{paid.prompt_tokens:,}", result.accepted, *fate]


HEAD = [
    *("week", "kind", *dict.fromkeys(StageClock.COLUMNS.values()), "CPU s", "seconds"),
    *("calls", "prompt tokens", "pairs", "carried", "stale", "dropped"),
]


def print_row(cells: Iterable[object]) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--weeks", type=int, default=10)
    options = parser.parse_args()
    chance, size = random.Random(0), options.documents
    articles = read_articles(options.corpus, round(size * (1 + NEW * options.weeks)))
    spare, articles = articles[size:], articles[:size]
    home = Path(tempfile.mkdtemp(prefix="digsite-refresh-"))
    print_row(HEAD)
    print_row(["---", "---", *["---:"] * (len(HEAD) - 2)])
    try:
        for week in range(1, options.weeks + 1):
            articles = edit(articles, spare, size, chance) if week > 1 else articles
            write_articles(articles, home / "articles.jsonl")
            kind = "refresh" if week > 1 else "first run"
            print_row([week, kind, *measure(build(home / "articles.jsonl", home / "out", options.pairs))])
        print_row([week, "from nothing", *measure(build(home / "articles.jsonl", home / "new", options.pairs))])
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
