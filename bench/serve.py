"""What the wire costs a search: `python -m bench.serve [CORPUS] [--seconds 10] [--batch 64] [--json]`.

The same queries, titles of the corpus's passages in a fixed order, through `search_many` in this process and through
`POST /retrieve` of `digsite serve` in a process of its own: batches one after another, batches of several clients, and
single queries from as many clients as a batch has queries. Both have the same two cores.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx2

from pipeline.corpus import load, resolve
from pipeline.retrieval.engines.lucene import LuceneRetriever
from tests.served import serving

Batch = list[str]
K = 5
CLIENTS = 4


def batches(queries: list[str], size: int) -> Iterator[Batch]:
    endless = cycle(queries)
    while True:
        yield list(islice(endless, size))


async def rate(ask: Callable[[Batch], Awaitable[Any]], given: Iterator[Batch], clients: int, seconds: float) -> float:
    """Batches a second, warmed up, from so many clients that each ask again when they are answered."""
    done = 0

    async def client(until: float) -> int:
        asked = 0
        while time.monotonic() < until:
            await ask(next(given))
            asked += 1
        return asked

    await ask(next(given))
    began = time.monotonic()
    done = sum(await asyncio.gather(*(client(began + seconds) for _ in range(clients))))
    return done / (time.monotonic() - began)


async def measure(corpus: str, out: Path, batch: int, seconds: float) -> dict[str, float]:
    loaded = load(resolve(corpus))
    titles = [f"{passage.title} {passage.text[:40]}" for passage in loaded.passages][
        :: max(1, len(loaded.passages) // 4096)
    ]
    retriever = LuceneRetriever(loaded, out)
    many = batches(titles, batch)
    found = {"in process, batches/s": await rate(lambda b: retriever.search_many(b, K), many, 1, seconds)}
    with serving("serve", corpus, "--out", out) as (_, url):
        async with httpx2.AsyncClient(timeout=60) as client:

            async def post(queries: Batch) -> None:
                body = {"queries": queries, "topk": K, "return_scores": True}
                answer = await client.post(url, json=body)
                assert len(answer.json()["result"]) == len(queries)

            found["served, batches/s"] = await rate(post, many, 1, seconds)
            found[f"served, {CLIENTS} clients, batches/s"] = await rate(post, many, CLIENTS, seconds)
            found[f"served, {batch} clients, single queries/s"] = await rate(post, batches(titles, 1), batch, seconds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", nargs="?", default="wiki")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = asyncio.run(measure(given.corpus, given.out, given.batch, given.seconds))
    if given.json:
        print(json.dumps(found))
        return
    print(f"{given.corpus}, batches of {given.batch} queries, k = {K}")
    for name, figure in found.items():
        print(f"{name:40} {figure:8.1f}")


if __name__ == "__main__":
    main()
