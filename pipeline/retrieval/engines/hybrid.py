"""Reciprocal rank fusion of several retrievers (Cormack, Clarke and Büttcher, 2009).

A passage gets 1 / (60 + rank) from each retriever that ranks it among its first 100. Passages with equal scores share a
rank. So do passages whose scores differ only in the last digits, since an engine may compute those differently for a
text that is not in its index.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pipeline.config.retrieval import RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.errors import UsageError
from pipeline.retrieval.base import Engine, Retriever
from pipeline.retrieval.open_retriever import open_retriever
from pipeline.retrieval.passage_texts import Passages
from pipeline.retrieval.question_passages import Overlay, sort_hits
from pipeline.types import Hit, Passage

K0 = 60
DEPTH = 100
_SAME = 2e-5


def build_retriever(corpus: Corpus, out: Path, settings: RetrievalConfig) -> Retriever:
    parts = []
    for kind in settings.parts:
        part, identity = open_retriever(settings.of(kind), corpus, out), settings.of(kind).identity
        if (started := part.name or identity) != identity:
            raise UsageError(
                f'{identity} does not start on this machine: use --set \'retrieval.parts=["{started}", "dense"]\''
            )
        parts.append(part)
    return HybridRetriever(corpus, settings.identity, parts)


class HybridRetriever(Passages):
    def __init__(self, corpus: Corpus, name: str, parts: Sequence[Retriever]) -> None:
        super().__init__(corpus)
        self.name, self._parts = name, tuple(parts)
        self.analyser = next((part.analyser for part in parts if part.analyser), "")
        self.contain_words = next((part.contain_words for part in parts if part.contain_words), None)
        self.scores = all(part.scores for part in parts)

    def with_passages(self, passages: Sequence[Passage]) -> Retriever:
        """Return a retriever whose parts rank the passages too, since they also move the ranks of other passages."""
        return HybridRetriever(self.corpus, self.name, [Overlay(part, passages) for part in self._parts])

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        hit_lists = await asyncio.gather(*[part.search_many(queries, DEPTH) for part in self._parts])
        return [fuse(lists)[: max(0, k)] for lists in zip(*hit_lists, strict=True)]

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        hit_lists = await asyncio.gather(*[part.search(query, DEPTH) for part in self._parts])
        scores = await asyncio.gather(*[part.score(query, texts) for part in self._parts])
        return [
            sum(_reciprocal_rank(score, hits) for score, hits in zip(part_scores, hit_lists, strict=True))
            for part_scores in zip(*scores, strict=True)
        ]


def fuse(hit_lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Merge hit lists: sum each passage's shares, in the order of the lists."""
    passages: dict[str, Passage] = {}
    totals: dict[str, float] = {}
    for hits in hit_lists:
        for hit in hits:
            passages[hit.passage.id] = hit.passage
            totals[hit.passage.id] = totals.get(hit.passage.id, 0.0) + _reciprocal_rank(hit.score, hits)
    return sort_hits([Hit(passage=passages[key], score=total) for key, total in totals.items()])


def _reciprocal_rank(score: float, hits: Sequence[Hit]) -> float:
    """Return what a score among the hits of one part adds to a passage's sum."""
    rank = 1 + sum(hit.score > score * (1 + _SAME) for hit in hits)
    return 1 / (K0 + rank) if score > 0 and rank <= DEPTH else 0.0


ENGINE = Engine(build_retriever)
