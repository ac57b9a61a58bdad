"""Lucene gives its own scores through Pyserini, serves many tasks at once, and reports failures."""

import asyncio
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus, jvm
from pipeline.errors import RetrievalError
from pipeline.retrieval.engines import lucene
from pipeline.retrieval.engines.lucene import LuceneRetriever, _stored_length
from pipeline.retrieval.passage_texts import contents
from pipeline.types import Hit


@pytest.mark.slow
async def test_scores_agree_with_lucene_s_own_on_real_text(tmp_path: Path) -> None:
    wiki = corpus.load(corpus.resolve("tests/golden/recorded/wiki.jsonl.zst"))
    retriever = LuceneRetriever(wiki, tmp_path)
    for passage in wiki.passages[::400]:
        query = " ".join(passage.text.split()[5:17])
        hits = await retriever.search(query, 10)
        scores = await retriever.score(query, [contents(hit.passage) for hit in hits])
        assert scores == pytest.approx([hit.score for hit in hits], rel=1e-4)


def test_lengths_are_rounded_as_lucene_rounds_them(retriever: LuceneRetriever) -> None:
    def java() -> list[int]:
        small = jvm.java("org.apache.lucene.util.SmallFloat")
        return [small.byte4ToInt(small.intToByte4(n)) for n in lengths]

    lengths = [*range(600), 1000, 4095, 4096, 10_007, 1_000_000]
    assert [_stored_length(n) for n in lengths] == jvm.call(java)


async def test_many_searches_are_run_in_batches(retriever: LuceneRetriever, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    search, release = retriever._search, threading.Event()

    def count_and_search(batch: list[lucene._Search]) -> list[list[Hit]]:
        sizes.append(len(batch))
        return search(batch)

    def block() -> None:
        release.wait(20)

    monkeypatch.setattr(lucene, "_AT_ONCE", 4)
    monkeypatch.setattr(retriever, "_search", count_and_search)
    jvm.submit(block)
    crowd = asyncio.gather(*[retriever.search("bridge", n) for n in range(1, 8)])
    await asyncio.sleep(0)
    release.set()
    assert [len(hits) for hits in await crowd] == [*range(1, 8)]
    assert sizes == [4, 3]


async def test_concurrent_tasks_and_threads_get_their_own_answers(retriever: LuceneRetriever, tiny: Corpus) -> None:
    queries = [" ".join(p.text.split()[:9]) for p in tiny.passages]
    right = [[hit.passage.id for hit in await retriever.search(query, 3)] for query in queries]

    async def all_of_them() -> list[list[str]]:
        return [
            [h.passage.id for h in hits] for hits in await asyncio.gather(*[retriever.search(q, 3) for q in queries])
        ]

    wrong: list[bool] = []

    def in_a_loop_of_its_own() -> None:
        wrong.extend(asyncio.run(all_of_them()) != right for _ in range(5))

    threads = [threading.Thread(target=in_a_loop_of_its_own) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert await all_of_them() == right
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert not any(wrong)
    assert len(wrong) == 40


async def test_concurrent_fetches_and_searches_get_the_right_passages(retriever: LuceneRetriever, tiny: Corpus) -> None:
    passages, error_counts = [*tiny.passages] * 20, list[int]()

    async def fetch() -> int:
        fetched = await asyncio.gather(
            *[retriever.get(passage.id) for passage in passages], *[retriever.search(f"mill {n}", 3) for n in range(20)]
        )
        return sum(actual != expected for actual, expected in zip(fetched, passages, strict=False))

    threads = [threading.Thread(target=lambda: error_counts.append(asyncio.run(fetch()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert error_counts == [0] * 8


async def test_a_cancelled_search_does_not_disturb_others(retriever: LuceneRetriever) -> None:
    tasks = [asyncio.ensure_future(retriever.search(f"Ostrand {n}", 3)) for n in range(40)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(hits, list) and len(hits) == 3 for hits in ended[1::2])
    assert len(await retriever.search("Ostrand", 3)) == 3


async def test_an_engine_error_has_its_cause(retriever: LuceneRetriever, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def search(self, query: str, k: int) -> list[object]:
            return list(jvm.java("java.util.ArrayList")().get(7))

    monkeypatch.setattr(retriever, "_searcher", Broken())
    with pytest.raises(RetrievalError, match=r"Lucene failed: .*IndexOutOfBounds") as caught:
        await retriever.search("Ostrand", 3)
    assert caught.value.__cause__ is not None


async def test_an_unknown_id_in_the_index_is_an_error(
    retriever: LuceneRetriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_passage = retriever.corpus.passage
    monkeypatch.setattr(
        retriever.corpus, "passage", lambda key: find_passage(key) if key != "Kessel_Bridge#0" else None
    )
    with pytest.raises(RetrievalError, match="'Kessel_Bridge#0', which is not in the corpus"):
        await retriever.search("Kessel Bridge", 3)


async def test_a_large_request_does_not_block_a_small_one(retriever: LuceneRetriever) -> None:
    large = asyncio.create_task(retriever.search_many([f"Kessel Bridge {n}" for n in range(3000)], 5))
    await asyncio.sleep(0)
    assert await retriever.search("Kessel Bridge", 2)
    assert not large.done()
    assert len(await large) == 3000


async def test_requests_take_turns_of_equal_size(retriever: LuceneRetriever) -> None:
    retriever._waiting.extend([lucene._Search(f"{name}{n}", 1, Future()) for n in range(count)] for name, count in
                              (("a", 1000), ("b", 3), ("c", 1000)))  # fmt: skip
    share = lucene._AT_ONCE // 3
    batch = [search.query for search in retriever._next_batch()]
    assert batch == [*(f"a{n}" for n in range(share)), "b0", "b1", "b2", *(f"c{n}" for n in range(share))]
    assert [request[0].query for request in retriever._waiting] == [f"a{share}", f"c{share}"]
    retriever._waiting.clear()
