"""Reciprocal rank fusion matches shares computed by hand from the ranks of its parts."""

from pathlib import Path

import pytest

from pipeline.corpus import Corpus
from pipeline.errors import UsageError
from pipeline.retrieval.engines.hybrid import DEPTH, K0, HybridRetriever, fuse
from pipeline.retrieval.open_retriever import open_retriever
from pipeline.retrieval.question_passages import Overlay
from pipeline.types import Hit
from tests.passages import Shelf, passage
from tests.small_encoders import Asked

A, B, C, D = (passage(name, name, f"text of {name}") for name in "abcd")


def make_hits(**scores: float) -> list[Hit]:
    return [Hit(passage=next(p for p in (A, B, C, D) if p.title == name), score=s) for name, s in scores.items()]


def test_shares_add_up_and_equal_scores_share_a_rank() -> None:
    fused = fuse([make_hits(a=9, b=8, c=8, d=1), make_hits(c=0.5, a=0.4)])
    expected = {"a": 1 / 61 + 1 / 62, "c": 1 / 62 + 1 / 61, "b": 1 / 62, "d": 1 / 64}
    assert [hit.passage.title for hit in fused] == list(expected)
    assert [hit.score for hit in fused] == pytest.approx(list(expected.values()))
    assert fuse([make_hits(a=0.0), make_hits()])[0].score == 0


async def test_the_score_adds_the_shares_of_all_parts(tiny: Corpus, indexes: Path, asked: Asked) -> None:
    settings = asked("hybrid").model_copy(update={"parts": ("bm25", "dense")})
    hybrid = open_retriever(settings, tiny, indexes)
    parts = [open_retriever(settings.of(part), tiny, indexes) for part in settings.parts]
    for query in ("the city of Ostrand on the river", "opera first performed in 1879"):
        ranks = [{h.passage.id: n for n, h in enumerate(await p.search(query, DEPTH), 1)} for p in parts]
        for hit in await hybrid.search(query, 10):
            share = sum(1 / (K0 + rank[hit.passage.id]) for rank in ranks if hit.passage.id in rank)
            assert hit.score == pytest.approx(share, abs=6e-4)


async def test_an_overlay_moves_other_ranks_as_a_rebuilt_index(tiny: Corpus) -> None:
    shelves = [A, B, C], [B, C]
    added = passage("own", "a b", "text of a, b and a again")
    base = HybridRetriever(tiny, "hybrid", [Shelf(*shelf) for shelf in shelves])
    rebuilt = HybridRetriever(tiny, "hybrid", [Shelf(*shelf, added) for shelf in shelves])
    for query in ("text of a", "b", "c text", "again", "zzyzx"):
        assert await Overlay(base, [added]).search(query, 9) == await rebuilt.search(query, 9)
        assert await Overlay(base, [added]).search_many([query], 2) == await rebuilt.search_many([query], 2)


def test_the_identity_names_the_parts(asked: Asked) -> None:
    dense = asked("dense").identity
    assert asked("hybrid").identity == f"hybrid#lucene+{dense}"
    remote = asked("hybrid").model_copy(update={"parts": ("bm25", "http://one:80/retrieve#e5")})
    assert remote.identity == "hybrid#bm25+http#e5"


@pytest.mark.parametrize("parts", [["bm25", "hybrid"], ["bm25", "bm25"], ["bm25"], ["bm25", "ftp://x"]])
def test_parts_that_cannot_be_fused_are_refused(parts: list[str]) -> None:
    from pipeline.config import build

    with pytest.raises(UsageError, match=r"retrieval\.parts"):
        build(values={"retrieval": {"retriever": "hybrid", "parts": parts}})


def test_an_unknown_part_is_refused(tiny: Corpus, indexes: Path, asked: Asked) -> None:
    with pytest.raises(UsageError, match="no retriever 'elastic'"):
        open_retriever(asked("hybrid").model_copy(update={"parts": ("elastic", "bm25")}), tiny, indexes)
