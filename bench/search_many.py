"""`search_many` beside Anserini's own `batch_search`, and many fetches at once: `python -m bench.search_many [CORPUS]`.

Both search for the same queries on as many threads, in turns. What Java returns is a hit whose id and score are read
when they are asked for: once it is timed with both of each hit read, as who uses hits reads them, and once without.
Ours has the passages too. Then passages are fetched by their ids from many tasks of several threads, and compared.
"""

import argparse
import asyncio
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.common import median
from pipeline import jvm
from pipeline.corpus import Corpus, load, resolve
from pipeline.retrieval.engines import lucene
from pipeline.retrieval.engines.lucene import LuceneRetriever

TOGETHER = 500
"""Fetches in one call of `gather`."""


def raw(retriever: LuceneRetriever, queries: list[str], k: int, *, read: bool) -> int:
    """On the JVM's thread only. The number of hits."""
    ids = [str(number) for number in range(len(queries))]
    found = retriever._searcher.batch_search(lucene._java_list(queries), lucene._java_list(ids), k, lucene._THREADS)
    hits = [found.get(key) for key in ids]
    return sum(len([(hit.docid, hit.score) for hit in of]) if read else len(of) for of in hits)


def timed(ask: Callable[[], Any]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def searches(retriever: LuceneRetriever, queries: list[list[str]], k: int) -> dict[str, float]:
    """Milliseconds a query, medians over the batches, of which the first warms up."""
    times: dict[str, list[float]] = {"search_many": [], "batch_search, hits read": [], "batch_search": []}
    for batch in queries:
        times["search_many"].append(timed(lambda: asyncio.run(retriever.search_many(batch, k))))  # noqa: B023
        for name, read in (("batch_search, hits read", True), ("batch_search", False)):
            times[name].append(timed(lambda: jvm.call(lambda: raw(retriever, batch, k, read=read))))  # noqa: B023
    return {name: 1000 * median(took[1:]) / len(queries[0]) for name, took in times.items()}


def fetches(retriever: LuceneRetriever, count: int, threads: int) -> int:
    """How many of so many are not the passage that was asked for."""
    corpus, wrong = retriever.corpus, [0] * threads
    chance = random.Random(0)
    asked = [corpus.passages[chance.randrange(len(corpus.passages))] for _ in range(count)]

    async def some(number: int) -> None:
        own = asked[number::threads]
        for start in range(0, len(own), TOGETHER):
            wanted = own[start : start + TOGETHER]
            got = await asyncio.gather(*(retriever.get(passage.id) for passage in wanted))
            wrong[number] += sum(one != other for one, other in zip(got, wanted, strict=True))

    running = [threading.Thread(target=lambda n=number: asyncio.run(some(n))) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(wrong)


def batches(corpus: Corpus, size: int, count: int) -> list[list[str]]:
    """Titles with the first words of the text."""
    step = max(1, len(corpus.passages) // (size * count))
    places = [(step * n) % len(corpus.passages) for n in range(size * count)]
    queries = [f"{passage.title} {passage.text[:40]}" for passage in map(corpus.passages.__getitem__, places)]
    return [queries[n * size : (n + 1) * size] for n in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", nargs="?", default="wiki")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--fetches", type=int, default=50_000)
    given = parser.parse_args()
    corpus = load(resolve(given.corpus), given.out)
    retriever = LuceneRetriever(corpus, given.out)
    took = searches(retriever, batches(corpus, given.batch, given.batches), given.k)
    print(f"{given.corpus}, {given.batches} batches of {given.batch} queries, k = {given.k}, in turns")
    for name, milliseconds in took.items():
        print(f"{name:24} {milliseconds:.3f} ms a query, {1000 / milliseconds:,.0f} queries/s")
    for name in list(took)[1:]:
        print(f"search_many against {name}: {took[name] / took['search_many']:.2f}")
    print(f"{given.fetches:,} fetches from 8 threads: {fetches(retriever, given.fetches, 8)} wrong")


if __name__ == "__main__":
    main()
