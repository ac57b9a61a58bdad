"""Ten weekly versions of a corpus, refreshed: seconds and model calls beside a run from nothing.

    python -m bench.refresh CORPUS.jsonl.xz --documents 20000 --pairs 50 --weeks 10

Each week 2 % of the documents change, 1 % go and 1 % come. The demo model is used.
"""

import argparse
import json
import lzma
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pipeline
from pipeline.run import attempts, versions

CHANGED, GONE, NEW = 0.02, 0.01, 0.01
Article = dict[str, Any]


def read_articles(path: Path, count: int) -> list[Article]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, count)]


def edit(articles: list[Article], spare: list[Article], size: int, chance: random.Random) -> list[Article]:
    remaining = chance.sample(articles, len(articles) - round(GONE * size))
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
        "retrieval": {"retriever": "bm25"},
        "loop": {"rounds": 0},
        "runtime": {"pairs": pairs, "out": out},
    }
    return pipeline.build(values=values)


def measure(config: pipeline.RunConfig) -> str:
    started_at = time.monotonic()
    result = pipeline.generate(config)
    seconds = time.monotonic() - started_at
    calls = attempts.total_spending(result.folder).total.paid.calls
    version = versions.read_version(result.folder)
    summary = version.summary if version else None
    carried = f"{summary.carried} | {summary.stale} | {sum(summary.dropped.values())}" if summary else "– | – | –"
    return f"{seconds:.0f} | {calls:,} | {result.accepted} | {carried}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--weeks", type=int, default=10)
    options = parser.parse_args()
    chance, size = random.Random(0), options.documents
    articles = read_articles(options.corpus, round(size * (1 + NEW * options.weeks)))
    spare, articles = articles[size:], articles[:size]
    home = Path(tempfile.mkdtemp(prefix="digsite-refresh-"))
    print(
        "| week | kind | seconds | calls | pairs | carried | stale | dropped |\n|---|---|---:|---:|---:|---:|---:|---:|"
    )
    try:
        for week in range(1, options.weeks + 1):
            articles = edit(articles, spare, size, chance) if week > 1 else articles
            write_articles(articles, home / "articles.jsonl")
            kind = "refresh" if week > 1 else "first run"
            print(
                f"| {week} | {kind} | {measure(build(home / 'articles.jsonl', home / 'out', options.pairs))} |",
                flush=True,
            )
        print(f"| {week} | from nothing | {measure(build(home / 'articles.jsonl', home / 'new', options.pairs))} |")
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
