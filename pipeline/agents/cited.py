"""The passages that a draft cites, and searches as checks record them."""

from collections.abc import Sequence

from pipeline.retrieval.base import Retriever
from pipeline.types import Draft, Hit, Passage, Searched


async def load_passages(draft: Draft, retriever: Retriever) -> list[Passage]:
    """Return the cited passages that the corpus has, each once, in the order of the hops."""
    cited = [await retriever.get(hop.passage_id) for hop in draft.hops]
    return list({passage.id: passage for passage in cited if passage is not None}.values())


def record_search(query: str, hits: Sequence[Hit]) -> Searched:
    return Searched(query=query, passage_ids=tuple(hit.passage.id for hit in hits))
