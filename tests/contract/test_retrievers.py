"""Every retriever keeps the contract. Each kind that `open_retriever` knows is tested automatically."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import Corpus
from pipeline.corpus.train_eval_split import side
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.one_side import Sided
from pipeline.retrieval.open_retriever import kinds, open_retriever
from pipeline.retrieval.passage_texts import contents
from pipeline.retrieval.question_passages import Overlay
from pipeline.types import Passage
from tests.server_process import serving
from tests.small_encoders import Asked

QUERIES = [
    "Who designed the bridge over the old harbour of Ostrand?",
    "opera first performed in 1879",
    "astronomer who discovered a comet",
    "lighthouse keeper",
    "the River Issel's dam",
]
NOTHING = Passage(id="synthetic-0#0", document_id="synthetic-0", title="Qa", text="Xu wy.", start=3, end=9)
ODD = ["", " ", "?!", "the of and", "zzyzx", "x" * 30_000, "\0", "\ud800", "AND OR ( [ * ~", "日本", "Ostrand " * 5000]


@pytest.fixture(scope="module")
def open_kind(tiny: Corpus, indexes: Path, asked: Asked) -> Iterator[Callable[[str], Retriever]]:
    retrievers: dict[str, Retriever] = {}

    def get(kind: str) -> Retriever:
        if kind == "sided":
            return Sided(get("lucene"), "train")
        if kind == "overlay":
            return Overlay(get("lucene"), [NOTHING])
        if kind not in retrievers:
            address = stack.enter_context(serving("serve", "tiny", "--out", indexes))[1] if kind == "http" else kind
            retrievers[kind] = open_retriever(asked(address), tiny, indexes)
        return retrievers[kind]

    with ExitStack() as stack:
        yield get


@pytest.fixture(params=[*kinds(), "sided", "overlay", "http"])
def any_retriever(request: pytest.FixtureRequest, open_kind: Callable[[str], Retriever]) -> Retriever:
    return open_kind(request.param)


@pytest.fixture(params=[*kinds(), "sided", "overlay", "http"])
def scoring(request: pytest.FixtureRequest, open_kind: Callable[[str], Retriever]) -> Retriever:
    return open_kind(request.param)


async def test_the_best_passage_comes_first(any_retriever: Retriever) -> None:
    titles = [(await any_retriever.search(query, 3))[0].passage.title for query in QUERIES]
    assert titles[0] == "Kessel Bridge"
    assert titles[1] in ("The Salt Road (opera)", "Elias Thorne")
    assert titles[2] in ("Nadia Volkova", "Comet Volkova")
    assert titles[4] == "Issel Dam"


async def test_hits_come_best_first_without_repeats_and_ties_by_id(any_retriever: Retriever) -> None:
    for query in [*QUERIES, "was", "2019", "Ostrand"]:
        hits = await any_retriever.search(query, 30)
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))
        assert len({hit.passage.id for hit in hits}) == len(hits)


async def test_fewer_hits_are_a_prefix_of_more(any_retriever: Retriever) -> None:
    for query in QUERIES:
        all_hits = await any_retriever.search(query, 1000)
        for k in (0, 1, 2, 5, 10):
            assert await any_retriever.search(query, k) == all_hits[:k]
    assert await any_retriever.search(QUERIES[0], -1) == []


async def test_a_batch_of_queries_gives_the_hits_of_single_queries(any_retriever: Retriever) -> None:
    queries = (QUERIES + ODD) * 4
    alone = [await any_retriever.search(query, 4) for query in queries]
    assert await any_retriever.search_many(queries, 4) == alone
    assert list(await asyncio.gather(*[any_retriever.search(query, 4) for query in queries])) == alone
    assert await any_retriever.search_many([], 4) == []


@pytest.mark.parametrize("query", ODD, ids=lambda query: repr(query[:10]))
async def test_an_odd_query_is_no_error(query: str, any_retriever: Retriever) -> None:
    hits = await any_retriever.search(query, 5)
    assert bool(hits) == query.startswith("Ostrand")


@pytest.mark.parametrize("query", ODD, ids=lambda query: repr(query[:10]))
async def test_an_odd_query_without_hits_scores_zero(query: str, scoring: Retriever) -> None:
    hits = await scoring.search(query, 5)
    scores = await scoring.score(query, ["Ostrand is a port.", "", "\0\ud800"])
    assert [score > 0 for score in scores] == [bool(hits), False, False]


async def test_passages_and_documents_are_found_by_id(any_retriever: Retriever, tiny: Corpus) -> None:
    for passage in tiny.passages:
        here = not isinstance(any_retriever, Sided) or side(passage.document_id) == "train"
        assert await any_retriever.get(passage.id) == (passage if here else None)
        assert await any_retriever.document(passage.document_id) == ([passage] if here else [])
    assert await any_retriever.get("no such passage") is None
    assert await any_retriever.document("no such document") == []


async def test_the_score_of_an_indexed_text_is_the_score_of_its_hit(scoring: Retriever) -> None:
    for query in [*QUERIES, "Ostrand Ostrand harbour", QUERIES[0] * 3]:
        hits = await scoring.search(query, 40)
        scores = await scoring.score(query, [contents(hit.passage) for hit in hits])
        assert scores == pytest.approx([hit.score for hit in hits], rel=1e-3, abs=1e-4)


async def test_the_score_of_a_new_text_follows_its_words(scoring: Retriever) -> None:
    near, far, none = await scoring.score(
        "steel arch bridge in Ostrand", ["A steel arch bridge in Ostrand.", "A wooden bridge in Lindmere.", "A cat."]
    )
    assert near > far > none == 0
    assert await scoring.score("bridge", []) == []


@pytest.mark.parametrize("kind", kinds())
async def test_a_corpus_of_stop_words_is_no_error(kind: str, tmp_path: Path, asked: Asked) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"id": "a", "title": "The", "text": "To be or not to be, that is it."}')
    small = open_retriever(asked(kind), corpus.load(corpus.resolve(str(path))), tmp_path)
    assert [hit.passage.id for hit in await small.search("be or not to be", 5)] == []
    # A word that the corpus lacks has no weight in BM25, and a direction for an encoder.
    assert [s > 0 for s in await small.score("be a bridge", ["a bridge", ""])] == [kind in ("dense", "hybrid"), False]
    path.write_text('{"id": "a", "title": "Mill", "text": "The mill of Arden was built in 1702."}')
    small = open_retriever(asked(kind), corpus.load(corpus.resolve(str(path))), tmp_path)
    (hit,) = await small.search("who built the mill", 5)
    assert await small.score("who built the mill", [contents(hit.passage)]) == pytest.approx([hit.score], rel=1e-3)
