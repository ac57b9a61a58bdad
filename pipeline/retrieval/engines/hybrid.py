"""Reciprocal rank fusion of several retrievers (Cormack, Clarke and Büttcher, 2009): a passage scores 1 / (60 + rank)
for each of them that finds it among its first 100. Passages of one score share a rank, and so do those whose scores
differ in the last digits alone, which an engine may compute otherwise for a text that is not in its index.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pipeline.config.retrieval_settings import RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.errors import UsageError
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.open_retriever import open_retriever
from pipeline.retrieval.passage_texts import Passages
from pipeline.retrieval.question_passages import Overlay, ranked
from pipeline.types import Hit, Passage

K0 = 60
DEPTH = 100
_SAME = 2e-5


def opened(corpus: Corpus, out: Path, settings: RetrievalConfig) -> Retriever:
    parts = []
    for kind in settings.parts:
        part, asked = open_retriever(settings.of(kind), corpus, out), settings.of(kind).identity
        if (found := part.name or asked) != asked:
            raise UsageError(f'no {asked} starts here: say --set \'retrieval.parts=["{found}", "dense"]\'')
        parts.append(part)
    return HybridRetriever(corpus, settings.identity, parts)


class HybridRetriever(Passages):
    def __init__(self, corpus: Corpus, name: str, parts: Sequence[Retriever]) -> None:
        super().__init__(corpus)
        self.name, self._parts = name, tuple(parts)
        self.analyser = next((part.analyser for part in parts if part.analyser), "")
        self.held = next((part.held for part in parts if part.held), None)
        self.scores = all(part.scores for part in parts)

    def overlaid(self, passages: Sequence[Passage]) -> Retriever:
        """What would be found if the passages were in the index of each part: they move the others' ranks too."""
        return HybridRetriever(self.corpus, self.name, [Overlay(part, passages) for part in self._parts])

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        found = await asyncio.gather(*[part.search_many(queries, DEPTH) for part in self._parts])
        return [fused(lists)[: max(0, k)] for lists in zip(*found, strict=True)]

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        found = await asyncio.gather(*[part.search(query, DEPTH) for part in self._parts])
        scores = await asyncio.gather(*[part.score(query, texts) for part in self._parts])
        return [
            sum(_share(score, hits) for score, hits in zip(of_text, found, strict=True))
            for of_text in zip(*scores, strict=True)
        ]


def fused(found: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The passages of all lists by the sum of their shares. The sum runs in the order of the parts."""
    passages: dict[str, Passage] = {}
    totals: dict[str, float] = {}
    for hits in found:
        for hit in hits:
            passages[hit.passage.id] = hit.passage
            totals[hit.passage.id] = totals.get(hit.passage.id, 0.0) + _share(hit.score, hits)
    return ranked([Hit(passage=passages[key], score=total) for key, total in totals.items()])


def _share(score: float, hits: Sequence[Hit]) -> float:
    """Of a passage or a text with that score among the hits of one part."""
    rank = 1 + sum(hit.score > score * (1 + _SAME) for hit in hits)
    return 1 / (K0 + rank) if score > 0 and rank <= DEPTH else 0.0
