"""Scores of texts against the index are bounded, analysed once, and cancelled with their client."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from pipeline.corpus import Corpus
from pipeline.retrieval.engines import bm25
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.serve.http_server import create_app
from pipeline.serve.retrieval_app import Served, router
from tests.passages import Shelf
from tests.serve.conftest import Ask
from tests.serve.test_retrieval_app import index_service, line, post

__all__ = ["index_service"]


@pytest.mark.parametrize(
    ("queries", "texts", "problem"),
    [
        (["bridge"] * 2000, ["word " * 2_000_000], "2000 queries of 10000000 characters: at most 4194304 together"),
        ([""] * 1_000_000, [], "1000000 queries of 0 texts: at most 10000 queries"),
        (["bridge"] * 9999, ["a"] * 6, "9999 queries of 6 texts: at most 10000 queries, and 50000 scores"),
    ],
)
def test_scores_are_bounded_by_their_work(
    ask: Ask, index_service: Served, queries: list[str], texts: list[str], problem: str
) -> None:
    assert problem in line(post(ask, index_service, "/score", queries=queries, texts=texts))


def test_a_text_is_analysed_once_for_all_queries(
    ask: Ask, index_service: Served, tiny: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever, analysed = Bm25Retriever(tiny), list[str]()
    analyse = bm25.analyse

    def record_text(text: str, analyser: str) -> list[str]:
        analysed.append(text)
        return analyse(text, analyser)

    monkeypatch.setattr(bm25, "analyse", record_text)
    texts = [tiny.passages[n].text for n in range(4)]
    queries = [f"the bridge {n}" for n in range(50)]
    bare = index_service._replace(retriever=retriever)
    answer = post(ask, bare, "/score", queries=queries, texts=texts).json()["scores"]
    assert len(analysed) == len(queries) + len(texts)
    assert answer == [asyncio.run(retriever.score(query, texts)) for query in queries]


def test_scoring_ends_with_its_client(index_service: Served) -> None:
    scored, gone = list[str](), asyncio.Event()

    class Counting(Shelf):
        async def score(self, query: str, texts: Sequence[str]) -> list[float]:
            scored.append(query)
            if len(scored) == 3:
                gone.set()
            return [0.0] * len(texts)

    body = json.dumps({"queries": ["a"] * 100, "texts": ["b"]}).encode()
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError(message)

    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/score", "raw_path": b"/score",
        "query_string": b"", "headers": [(b"host", b"localhost")], "scheme": "http", "server": ("127.0.0.1", 80),
    }  # fmt: skip
    app = create_app(router(index_service._replace(retriever=Counting())))
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    assert len(scored) in (3, 4)
