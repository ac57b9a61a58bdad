"""The interface that every retriever implements: it takes a query and returns passages of the corpus."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pipeline.types import Hit, Passage

if TYPE_CHECKING:
    from pipeline.config.retrieval import RetrievalConfig
    from pipeline.corpus import Corpus

TEXTS_REMEMBERED = 2
"""Number of groups of texts whose tokens an engine caches, since the next query often scores the same texts."""
SCORING = "use a server with /score, or --retriever lucene or bm25 for these"
"""Advice for errors about a retriever that cannot `score`, that is, whose `scores` is False."""


class Retriever(Protocol):
    """Interface of a search engine over a corpus.

    All methods may be called from any thread or task. Hits are sorted best first, ties by passage id. If the engine
    fails, a method raises `RetrievalError` with the engine's own error as its cause.
    """

    name: str = ""
    """Name of the engine in use; empty if it is the requested one."""
    analyser: str = ""
    """Name of the analyser (see `analysers`) that tokenises the index; empty if unknown."""
    scores: bool = True
    """Whether `score` is supported."""
    contain_words: Callable[[Sequence[str]], Awaitable[list[bool]]] | None = None
    """Report for each word whether some passage contains each of its tokens. None if the retriever does not know the
    terms of its index. A word that is not indexed, such as a stop word, counts as contained."""
    with_passages: Callable[[Sequence[Passage]], "Retriever"] | None = None
    """Return a retriever that also ranks these passages. Set only by engines that combine ranks instead of scores."""

    async def search(self, query: str, k: int) -> list[Hit]:
        """Return the k best passages, or fewer if too few contain a term of the query."""
        return (await self.search_many([query], k))[0]

    async def search_many(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Return one list of hits per query, in order. Faster than a call of `search` per query."""
        ...

    async def get(self, passage_id: str) -> Passage | None: ...

    async def document(self, document_id: str) -> list[Passage]:
        """Return all passages of a document, in order; an empty list if the id is unknown."""
        ...

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the score that each text would get if it were in the index.

        The index's statistics and analyser, or its encoder, decide.
        """
        ...


@dataclass(frozen=True)
class Engine:
    """A kind of retriever: what a file in `engines` defines."""

    build: Callable[["Corpus", Path, "RetrievalConfig"], Retriever]
    """Open the retriever over a corpus. The path is the folder of all runs; an index belongs into its `indexes`."""
