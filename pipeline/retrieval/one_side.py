"""A retriever over one side of the corpus. The generator uses it, so that no split leaks into another."""

import asyncio
from collections.abc import Sequence
from math import ceil
from typing import Literal

from pipeline.corpus.train_eval_split import EVAL_SHARE, side
from pipeline.retrieval.base import Retriever
from pipeline.types import Hit, Passage


class Sided(Retriever):
    """A retriever that returns passages of one side only. Ranks and scores are those of the whole corpus."""

    def __init__(self, retriever: Retriever, of: Literal["train", "eval"]) -> None:
        self._retriever = retriever
        self._side = of
        self.contain_words = retriever.contain_words
        self._share = EVAL_SHARE if of == "eval" else 1 - EVAL_SHARE

    async def search(self, query: str, k: int) -> list[Hit]:
        # Twice the depth that contains `k` hits of this side on average.
        depth = ceil(2 * k / self._share)
        while True:
            hits = await self._retriever.search(query, depth)
            side_hits = [hit for hit in hits if self._is_on_side(hit.passage.document_id)]
            if len(side_hits) >= k or len(hits) < depth:
                return side_hits[: max(0, k)]
            depth *= 4

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return list(await asyncio.gather(*[self.search(query, k) for query in queries]))

    async def get(self, passage_id: str) -> Passage | None:
        passage = await self._retriever.get(passage_id)
        return passage if passage and self._is_on_side(passage.document_id) else None

    async def document(self, document_id: str) -> list[Passage]:
        return await self._retriever.document(document_id) if self._is_on_side(document_id) else []

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await self._retriever.score(query, texts)

    def _is_on_side(self, document_id: str) -> bool:
        return side(document_id) == self._side
