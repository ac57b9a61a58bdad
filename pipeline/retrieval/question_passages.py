"""A question's own passages on top of an index: only the agents of that question retrieve them."""

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.retrieval.base import Retriever
from pipeline.retrieval.passage_texts import contents
from pipeline.types import Hit, Passage, sha256

LIFTED_FROM = 50
"""A search lifts a passage only if the index ranks it among this many hits."""


class IndexChanges(NamedTuple):
    """Passages of the index that one question's searches rank differently, by id."""

    lifted: frozenset[str] = frozenset()
    """Passages that are always among the k hits if the index ranks them among the first LIFTED_FROM."""
    hidden: frozenset[str] = frozenset()
    """Passages that no search returns."""
    kept: frozenset[str] = frozenset()
    """Passages that lifted ones push out of the k hits only after all others."""
    above: bool = False
    """Whether lifted passages come first. If not, a hash of the id sets the rank, the same in every search."""


class Overlay(Retriever):
    """A retriever that ranks `passages` among the hits of another, without adding them to its index.

    Needs a retriever that can `score`. Scores use its statistics. The passages are too few to change those, so they
    rank as they would in an index that was built with them. A lifted passage gets the score of the hit that it
    displaces.
    """

    def __init__(
        self,
        retriever: Retriever,
        passages: Sequence[Passage],
        changes: IndexChanges = IndexChanges(),  # noqa: B008
    ) -> None:
        self._retriever, self._changes = retriever, changes
        self._passages_by_id = {passage.id: passage for passage in passages}
        # An engine that combines ranks lets each of its parts rank the passages.
        self._reranked: Retriever | None = (
            retriever.with_passages(passages) if retriever.with_passages and passages else None
        )
        if not passages and (rank_with := retriever.with_passages):
            self.with_passages = lambda more_passages: Overlay(rank_with(more_passages), (), changes)

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        depth = max(k + len(self._changes.hidden), LIFTED_FROM if self._changes.lifted else 0)
        if self._reranked is not None:
            hit_lists = await self._reranked.search_many(queries, depth)
        else:
            hit_lists = await self._retriever.search_many(queries, depth)
            hit_lists = [
                sort_hits(hits + await self._score_overlay(query))
                for query, hits in zip(queries, hit_lists, strict=True)
            ]
        return [self._select_top(hits, max(0, k)) for hits in hit_lists]

    def _select_top(self, hits: list[Hit], k: int) -> list[Hit]:
        """Return the first k hits: without hidden passages, and with each lifted passage at its rank."""
        hits = [hit for hit in hits if hit.passage.id not in self._changes.hidden]
        ranks = [(min(index, self._lifted_rank(hit, k)), hit) for index, hit in enumerate(hits)]
        lifted = [(rank, hit) for rank, hit in ranks if hit.passage.id in self._changes.lifted][:k]
        top_hits = [hit for hit in hits[:k] if hit.passage.id not in self._changes.lifted]
        while len(top_hits) > k - len(lifted):
            dropped = max(
                range(len(top_hits)), key=lambda index: (top_hits[index].passage.id not in self._changes.kept, index)
            )
            del top_hits[dropped]
        for rank, hit in sorted(lifted, key=lambda ranked_hit: (ranked_hit[0], ranked_hit[1].passage.id)):
            top_hits.insert(rank, hit)
        for index in range(len(top_hits) - 2, -1, -1):
            if top_hits[index].score < top_hits[index + 1].score:
                top_hits[index] = top_hits[index].model_copy(update={"score": top_hits[index + 1].score})
        return top_hits

    def _lifted_rank(self, hit: Hit, k: int) -> int:
        return 0 if self._changes.above else int(sha256(hit.passage.id)[:8], 16) % max(1, k)

    async def index(self, query: str, k: int) -> list[Hit]:
        """Return the k best hits of the index alone, without hidden or lifted passages."""
        excluded = self._changes.hidden | self._changes.lifted
        hits = await self._retriever.search(query, k + len(excluded))
        return [hit for hit in hits if hit.passage.id not in excluded][: max(0, k)]

    async def search_overlay(self, query: str) -> list[Hit]:
        """Return the overlay's own and lifted passages that match the query."""
        hits = await self._retriever.search(query, LIFTED_FROM) if self._changes.lifted else []
        return [*await self._score_overlay(query), *(hit for hit in hits if hit.passage.id in self._changes.lifted)]

    async def _score_overlay(self, query: str) -> list[Hit]:
        passages = list(self._passages_by_id.values())
        scores = await self._retriever.score(query, [contents(passage) for passage in passages]) if passages else []
        return [Hit(passage=passage, score=score) for passage, score in zip(passages, scores, strict=True) if score > 0]

    async def get(self, passage_id: str) -> Passage | None:
        if passage_id in self._changes.hidden:
            return None
        return self._passages_by_id.get(passage_id) or await self._retriever.get(passage_id)

    async def document(self, document_id: str) -> list[Passage]:
        own_passages = [passage for passage in self._passages_by_id.values() if passage.document_id == document_id]
        return own_passages or [
            passage for passage in await self._retriever.document(document_id) if passage.id not in self._changes.hidden
        ]

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await self._retriever.score(query, texts)


def sort_hits(hits: list[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))
