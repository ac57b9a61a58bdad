"""A question's own passages over an index: its agents find them as if they were in it, and nobody else does."""

from collections.abc import Sequence

from pipeline.retrieval.base import Retriever
from pipeline.retrieval.passage_texts import contents
from pipeline.types import Hit, Passage


class Overlay(Retriever):
    """`retriever` with `passages` ranked among its hits by its own statistics; the index itself never holds them.

    Needs a retriever that can `score`. The passages are too few to change an index's statistics, so they rank as they
    would in an index that was built with them.
    """

    def __init__(self, retriever: Retriever, passages: Sequence[Passage]) -> None:
        self._retriever = retriever
        self._own = {passage.id: passage for passage in passages}
        # Where ranks count and not scores, each part ranks them.
        self._whole: Retriever | None = retriever.overlaid(passages) if retriever.overlaid and passages else None

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if self._whole is not None:
            return await self._whole.search_many(queries, k)
        found = await self._retriever.search_many(queries, k)
        return [ranked(hits + await self.found(query))[: max(0, k)] for query, hits in zip(queries, found, strict=True)]

    async def found(self, query: str) -> list[Hit]:
        """The own passages that the query finds."""
        own = list(self._own.values())
        scores = await self._retriever.score(query, [contents(passage) for passage in own]) if own else []
        return [Hit(passage=p, score=score) for p, score in zip(own, scores, strict=True) if score > 0]

    async def get(self, passage_id: str) -> Passage | None:
        return self._own.get(passage_id) or await self._retriever.get(passage_id)

    async def document(self, document_id: str) -> list[Passage]:
        own = [passage for passage in self._own.values() if passage.document_id == document_id]
        return own or await self._retriever.document(document_id)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await self._retriever.score(query, texts)


def ranked(hits: list[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))
