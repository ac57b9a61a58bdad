"""Passages of one question rank as if they were in the index, and no other question finds them."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline import corpus
from pipeline.corpus import Corpus
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.open_retriever import kinds, open_retriever
from pipeline.retrieval.question_passages import IndexChanges, Overlay
from pipeline.types import Distractor, Passage
from pipeline.types.distractor import Kind
from tests.passages import InMemory, Shelf, is_synthetic, passage
from tests.small_encoders import Asked

DEPTH = 10


def make_edition(source: Passage, n: int) -> Distractor:
    """Copy a passage with other digits, like another edition of it."""
    turned = source.text.translate(str.maketrans("0123456789", "1234567890"))
    return Distractor(
        kind=Kind.DOPPELGANGER,
        title=f"{source.title} (edition {n})",
        text=" ".join(turned.split()[: 30 + n % 60]),
        hop=0,
        source_id=source.id,
        source_sha256=source.sha256,
        claim="",
        mark=f"edition {n}",
    )


def rebuild_corpus(base: Corpus, extra: list[Passage]) -> Corpus:
    return cast(Corpus, InMemory((*base.passages, *extra), base.manifest, base.fingerprint))


@pytest.fixture(scope="module")
def open_kind(tiny: Corpus, indexes: Path, asked: Asked) -> Callable[[str], Retriever]:
    retrievers: dict[str, Retriever] = {}
    return lambda kind: retrievers.get(kind) or retrievers.setdefault(kind, open_retriever(asked(kind), tiny, indexes))


@pytest.mark.slow  # two indexes of 3,300 documents for each kind
@pytest.mark.parametrize("kind", kinds())
async def test_a_distractor_ranks_as_in_a_rebuilt_index_for_500_queries(
    kind: str, tmp_path: Path, asked: Asked
) -> None:
    wiki = corpus.load(corpus.resolve("tests/golden/recorded/wiki.jsonl.zst"))
    step = len(wiki.passages) // 500
    sources = wiki.passages[::step][:500]
    editions = [make_edition(source, n).passage for n, source in enumerate(sources)]
    queries = [" ".join(source.text.split()[5 : 9 + n % 9]) for n, source in enumerate(sources)]
    base = open_retriever(asked(kind), wiki, tmp_path / "base")
    full = open_retriever(asked(kind), rebuild_corpus(wiki, editions), tmp_path / "full")
    expected_hits = [
        [hit.passage for hit in hits if not is_synthetic(hit.passage.id) or hit.passage.id == mine.id][:DEPTH]
        for mine, hits in zip(editions, await full.search_many(queries, DEPTH + 40), strict=True)
    ]
    same_count = hit_count = 0
    for mine, query, expected in zip(editions, queries, expected_hits, strict=True):
        rank = find_rank(mine, [hit.passage for hit in await Overlay(base, [mine]).search(query, DEPTH)])
        expected_rank = find_rank(mine, expected)
        if rank != expected_rank:
            # All 500 together are 4 % of the index and change its statistics, so check this one alone.
            alone = open_retriever(asked(kind), rebuild_corpus(wiki, [mine]), tmp_path / mine.document_id)
            expected_rank = find_rank(mine, [hit.passage for hit in await alone.search(query, DEPTH)])
        same_count += rank == expected_rank
        hit_count += rank is not None
    assert hit_count > 100, "else the ranks say nothing"
    assert same_count >= 495, f"{same_count} of 500 rank as in a rebuilt index"
    print(f"{kind}: {same_count} of 500 rank as in a rebuilt index")


def find_rank(passage: Passage, passages: list[Passage]) -> int | None:
    return passages.index(passage) if passage in passages else None


@pytest.mark.slow
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(64)), k=st.integers(3, 12))
@pytest.mark.parametrize("kind", kinds())
def test_concurrent_questions_never_see_each_other_s_passages(
    kind: str, order: list[int], k: int, open_kind: Callable[[str], Retriever], tiny: Corpus
) -> None:
    base = open_kind(kind)
    editions = [make_edition(tiny.passages[n % len(tiny.passages)], n).passage for n in range(64)]
    overlays = [Overlay(base, [passage]) for passage in editions]

    async def ask(n: int) -> None:
        """Search for the question's passage, and for another question's passage by its words."""
        mine, theirs = editions[n], editions[order[n]]
        hits = await overlays[n].search_many([f"{mine.title} {mine.text}", f"{theirs.title} {theirs.text}"], k)
        assert mine in [hit.passage for hit in hits[0][:3]]
        assert {hit.passage.id for results in hits for hit in results if is_synthetic(hit.passage.id)} == {mine.id}
        assert await overlays[n].get(theirs.id) == (theirs if theirs == mine else None)
        assert await overlays[n].document(theirs.document_id) == ([theirs] if theirs == mine else [])
        assert not any(is_synthetic(hit.passage.id) for hit in await base.search(mine.text, k))

    async def all_of_them() -> None:
        await asyncio.gather(*map(ask, order))

    asyncio.run(all_of_them())


@pytest.mark.parametrize("kind", kinds())
async def test_an_empty_overlay_is_the_index_itself(kind: str, open_kind: Callable[[str], Retriever]) -> None:
    base = open_kind(kind)
    for query in ("the River Issel's dam", "zzyzx", ""):
        assert await Overlay(base, []).search(query, 5) == await base.search(query, 5)
    assert await Overlay(base, []).score("bridge", ["a bridge"]) == await base.score("bridge", ["a bridge"])


@pytest.mark.parametrize("kind", kinds())
async def test_hits_are_merged_in_the_order_of_every_retriever(
    kind: str, open_kind: Callable[[str], Retriever], tiny: Corpus
) -> None:
    editions = [make_edition(passage, n).passage for n, passage in enumerate(tiny.passages[:5])]
    overlay = Overlay(open_kind(kind), editions)
    all_hits = await overlay.search("Ostrand harbour port city", 60)
    assert all_hits == sorted(all_hits, key=lambda hit: (-hit.score, hit.passage.id))
    assert sum(is_synthetic(hit.passage.id) for hit in all_hits) >= 1
    for k in (-1, 0, 1, 3, 10):
        assert await overlay.search("Ostrand harbour port city", k) == all_hits[: max(0, k)]
    assert not any(is_synthetic(hit.passage.id) for hit in await overlay.search("zzyzx", 5))


async def test_an_agent_cannot_tell_synthetic_ids(tiny: Corpus) -> None:
    mine = make_edition(tiny.passages[0], 7).passage
    assert is_synthetic(mine.id)
    assert not is_synthetic(tiny.passages[0].id)
    assert mine.document_id + "#0" == mine.id
    assert len(mine.shown_id) == len(tiny.passages[0].shown_id)
    assert "synthetic" not in mine.shown_id


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_lifted_passages_are_hits_once_and_displace_no_evidence(data: st.DataObject) -> None:
    passages = [passage(f"p{n}", f"T{n}", " ".join(["word"] * (9 - n % 9))) for n in range(12)]
    ids, k = [item.id for item in passages], data.draw(st.integers(1, 6))
    lifted = data.draw(st.frozensets(st.sampled_from(ids), max_size=2))
    hidden = data.draw(st.frozensets(st.sampled_from(ids), max_size=2)) - lifted
    shelf, above = Shelf(*passages), data.draw(st.booleans())
    natural = [hit.passage.id for hit in asyncio.run(shelf.search("word", 50)) if hit.passage.id not in hidden]
    evidence = data.draw(st.frozensets(st.sampled_from(natural[:k]), max_size=2)) - lifted
    overlay = Overlay(shelf, [], IndexChanges(lifted, hidden, evidence, above))
    hits = asyncio.run(overlay.search("word", k))
    hit_ids = [hit.passage.id for hit in hits]
    assert len(hit_ids) == len(set(hit_ids)) == min(k, len(natural))
    assert hidden.isdisjoint(hit_ids)
    if len(lifted) + len(evidence) <= k:
        assert lifted | evidence <= {*hit_ids}
    if above:
        assert {*hit_ids[: min(k, len(lifted))]} <= lifted
    unlifted = [key for key in natural if key not in lifted and key in hit_ids]
    assert unlifted == [key for key in hit_ids if key not in lifted]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    index = [hit.passage.id for hit in asyncio.run(overlay.index("word", k))]
    assert index == [key for key in natural if key not in lifted][:k]
