"""The contract of every retriever: text in, passages of the corpus out."""

from collections.abc import Sequence
from typing import Protocol

from pipeline.types import Hit, Passage


class Retriever(Protocol):
    """All methods may be called from any thread or task; hits come best first, ties by passage id.

    Raises `RetrievalError`, with the engine's own error as its cause, when the engine fails.
    """

    async def search(self, query: str, k: int) -> list[Hit]:
        """The k best passages; fewer, or none, where no term of the query is in the corpus."""
        ...

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """One list of hits per query, in order; cheaper than as many `search` calls."""
        ...

    async def get(self, passage_id: str) -> Passage | None:
        """The passage of that id, or none."""
        ...

    async def document(self, document_id: str) -> list[Passage]:
        """All passages of one document, in order; empty for an unknown id."""
        ...

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """What each text would score if it stood in the index, by the index's own N, document frequencies, average
        length and analyser."""
        ...
