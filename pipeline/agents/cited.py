"""The passages that a draft cites, and what a search found, as checks keep it."""

from collections.abc import Sequence

from pipeline.retrieval.base import Retriever
from pipeline.types import Draft, Hit, Passage, Searched

Evidence = tuple[Passage | None, ...]
"""The passage of each hop, or None if the corpus has no such id."""


async def gather(draft: Draft, retriever: Retriever) -> Evidence:
    return tuple([await retriever.get(hop.passage_id) for hop in draft.hops])


async def passages(draft: Draft, retriever: Retriever) -> list[Passage]:
    """Return the cited passages that the corpus has, each once, in the order of the hops."""
    evidence = await gather(draft, retriever)
    return list({passage.id: passage for passage in evidence if passage is not None}.values())


def searched(query: str, hits: Sequence[Hit]) -> Searched:
    return Searched(query=query, passage_ids=tuple(hit.passage.id for hit in hits))
