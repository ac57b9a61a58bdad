"""Passages for tests, and a retriever over a few of them that counts the words of the query."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipeline.corpus import Manifest
from pipeline.corpus.language import detect_language
from pipeline.retrieval.base import Retriever
from pipeline.text import words
from pipeline.types import Hit, Hop, Passage
from pipeline.types.distractor import SYNTHETIC


def passage(document: str, title: str, text: str, n: int = 0) -> Passage:
    start = len(title) + 1
    return Passage(
        id=f"{document}#{n}", document_id=document, title=title, text=text, start=start, end=start + len(text)
    )


def hop(source: Passage, answer: str, asked: str = "?", quote: str = "", **more: Any) -> Hop:
    """Return a hop that cites the `quote`, or the text after the first sentence of a passage, or all of it."""
    return Hop(
        sub_question=asked, answer=answer, passage_id=source.id, title=source.title,
        quote=quote or source.text.split(". ", 1)[-1], passage_sha256=source.sha256, **more,
    )  # fmt: skip


def is_synthetic(passage_id: str) -> bool:
    """Return whether a passage belongs to a distractor and not to a corpus."""
    return passage_id.startswith(SYNTHETIC)


class Shelf(Retriever):
    def __init__(self, *passages: Passage) -> None:
        self.passages = {p.id: p for p in passages}

    async def search(self, query: str, k: int) -> list[Hit]:
        texts = list(self.passages.values())
        scores = await self.score(query, [f"{p.title} {p.text}" for p in texts])
        ranked = sorted(zip(scores, texts, strict=True), key=lambda pair: (-pair[0], pair[1].id))
        return [Hit(passage=p, score=score) for score, p in ranked[:k] if score > 0]

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [await self.search(query, k) for query in queries]

    async def get(self, passage_id: str) -> Passage | None:
        return self.passages.get(passage_id)

    async def document(self, document_id: str) -> list[Passage]:
        return [p for p in self.passages.values() if p.document_id == document_id]

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [float(sum(words(text).count(word) for word in set(words(query)))) for text in texts]


@dataclass(frozen=True)
class InMemory:
    """The part of a corpus that a retriever needs."""

    passages: tuple[Passage, ...]
    manifest: Manifest | None = None
    fingerprint: str = ""
    verified: bool = False

    def in_order_of_ids(self, place: int) -> Passage:
        return self.passages[place]

    @cached_property
    def language(self) -> str:
        return detect_language([passage.text for passage in self.passages])

    @cached_property
    def _by_id(self) -> dict[str, Passage]:
        return {passage.id: passage for passage in self.passages}

    def passage(self, passage_id: str) -> Passage | None:
        return self._by_id.get(passage_id)

    def passages_of(self, document_id: str) -> list[Passage]:
        return [p for p in self.passages if p.document_id == document_id]
