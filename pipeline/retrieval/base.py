"""The contract of every retriever: a query in, passages of the corpus out."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from pipeline.types import Hit, Passage

TEXTS_REMEMBERED = 2
"""Groups of texts of which an engine keeps the words, for the next query that they are scored for."""
SCORING = "use a server with /score, or --retriever lucene or bm25 for these"
"""What to do where a retriever cannot `score`; its `scores` is False then."""


class Retriever(Protocol):
    """All methods may be called from any thread or task; hits are sorted best first, ties by passage id.

    Raises `RetrievalError`, with the engine's own error as its cause, if the engine fails.
    """

    name: str = ""
    """Which engine it is; empty where it is the one that was asked for."""
    analyser: str = ""
    """How its index parts words, by the names of `analysers`; empty where that is unknown."""
    scores: bool = True
    """Whether it can `score`."""
    held: Callable[[Sequence[str]], Awaitable[list[bool]]] | None = None
    """Whether any passage holds all parts of each of these words, where the retriever knows the words of its index.
    What is not indexed, such as a stop word, counts as held."""
    overlaid: Callable[[Sequence[Passage]], "Retriever"] | None = None
    """A retriever with these passages in its index, where ranks count and not scores."""

    async def search(self, query: str, k: int) -> list[Hit]:
        """The k best passages; fewer, or none, where too few hold a term of the query."""
        return (await self.search_many([query], k))[0]

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """One list of hits per query, in order; faster than as many calls of `search`."""
        ...

    async def get(self, passage_id: str) -> Passage | None:
        """The passage of that id, or None."""
        ...

    async def document(self, document_id: str) -> list[Passage]:
        """All passages of one document, in order; empty for an unknown id."""
        ...

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """What each text would score if it were in the index, by the index's own statistics and analyser, or by its
        encoder; at zero or less it would not be found."""
        ...
