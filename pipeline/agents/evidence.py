"""The passages that a draft cites, fetched once for all checks, and what a search found, as checks keep it."""

from collections.abc import Sequence

from pipeline.retrieval.base import Retriever
from pipeline.types import Draft, Hit, Passage, Searched

Evidence = tuple[Passage | None, ...]
"""The passage of each hop, or none where the corpus has no such id."""


async def gather(draft: Draft, retriever: Retriever) -> Evidence:
    return tuple([await retriever.get(hop.passage_id) for hop in draft.hops])


async def passages(draft: Draft, retriever: Retriever) -> list[Passage]:
    """Those that the corpus has, each once, in the order of the hops."""
    return list({passage.id: passage for passage in await gather(draft, retriever) if passage is not None}.values())


def searched(query: str, hits: Sequence[Hit]) -> Searched:
    return Searched(query=query, passage_ids=tuple(hit.passage.id for hit in hits))
