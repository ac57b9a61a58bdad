"""A question's own passages over an index: its agents find them as if they were in it, and nobody else does."""

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.retrieval.base import Retriever
from pipeline.retrieval.passage_texts import contents
from pipeline.types import Hit, Passage, sha256

LIFTED_FROM = 50


class IndexChanges(NamedTuple):
    """How a question's searches find passages of the index otherwise than others do; by their ids."""

    lifted: frozenset[str] = frozenset()
    """Those that stand among the k hits of every search that has them among its first LIFTED_FROM."""
    hidden: frozenset[str] = frozenset()
    """Those that are not found."""
    kept: frozenset[str] = frozenset()
    """Those that what is lifted does not push out of the k hits, while there are others."""
    above: bool = False
    """Whether what is lifted comes first; if not, its place is drawn from its id, the same in every search."""


class Overlay(Retriever):
    """`retriever` with `passages` ranked among its hits by its own statistics; the index itself never holds them.

    Needs a retriever that can `score`. The passages are too few to change an index's statistics, so they rank as they
    would in an index that was built with them. What is lifted has the score of the hit whose place it takes.
    """

    def __init__(
        self,
        retriever: Retriever,
        passages: Sequence[Passage],
        changes: IndexChanges = IndexChanges(),  # noqa: B008
    ) -> None:
        self._retriever, self._changes = retriever, changes
        self._own = {passage.id: passage for passage in passages}
        # Where ranks count and not scores, each part ranks them.
        self._whole: Retriever | None = retriever.overlaid(passages) if retriever.overlaid and passages else None
        if not passages and (under := retriever.overlaid):
            self.overlaid = lambda own: Overlay(under(own), (), changes)

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        depth = max(k + len(self._changes.hidden), LIFTED_FROM if self._changes.lifted else 0)
        if self._whole is not None:
            found = await self._whole.search_many(queries, depth)
        else:
            found = await self._retriever.search_many(queries, depth)
            found = [ranked(hits + await self._scored(query)) for query, hits in zip(queries, found, strict=True)]
        return [self._placed(hits, max(0, k)) for hits in found]

    def _placed(self, hits: list[Hit], k: int) -> list[Hit]:
        """The k first, without what is hidden, and with what is lifted in its place among them."""
        hits = [hit for hit in hits if hit.passage.id not in self._changes.hidden]
        places = [(min(n, self._place(hit, k)), hit) for n, hit in enumerate(hits)]
        lifted = [(place, hit) for place, hit in places if hit.passage.id in self._changes.lifted][:k]
        placed = [hit for hit in hits[:k] if hit.passage.id not in self._changes.lifted]
        while len(placed) > k - len(lifted):
            last = max(range(len(placed)), key=lambda n: (placed[n].passage.id not in self._changes.kept, n))
            del placed[last]
        for place, hit in sorted(lifted, key=lambda one: (one[0], one[1].passage.id)):
            placed.insert(place, hit)
        for n in range(len(placed) - 2, -1, -1):
            if placed[n].score < placed[n + 1].score:
                placed[n] = placed[n].model_copy(update={"score": placed[n + 1].score})
        return placed

    def _place(self, hit: Hit, k: int) -> int:
        return 0 if self._changes.above else int(sha256(hit.passage.id)[:8], 16) % max(1, k)

    async def index(self, query: str, k: int) -> list[Hit]:
        """The k best of the index alone, without what is hidden or lifted."""
        left_out = self._changes.hidden | self._changes.lifted
        hits = await self._retriever.search(query, k + len(left_out))
        return [hit for hit in hits if hit.passage.id not in left_out][: max(0, k)]

    async def found(self, query: str) -> list[Hit]:
        """The passages of the overlay that the query finds."""
        hits = await self._retriever.search(query, LIFTED_FROM) if self._changes.lifted else []
        return [*await self._scored(query), *(hit for hit in hits if hit.passage.id in self._changes.lifted)]

    async def _scored(self, query: str) -> list[Hit]:
        own = list(self._own.values())
        scores = await self._retriever.score(query, [contents(passage) for passage in own]) if own else []
        return [Hit(passage=p, score=score) for p, score in zip(own, scores, strict=True) if score > 0]

    async def get(self, passage_id: str) -> Passage | None:
        if passage_id in self._changes.hidden:
            return None
        return self._own.get(passage_id) or await self._retriever.get(passage_id)

    async def document(self, document_id: str) -> list[Passage]:
        own = [passage for passage in self._own.values() if passage.document_id == document_id]
        return own or [p for p in await self._retriever.document(document_id) if p.id not in self._changes.hidden]

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return await self._retriever.score(query, texts)


def ranked(hits: list[Hit]) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage.id))
