"""The passages that a draft cites, fetched once for all checks."""

from pipeline.retrieval.base import Retriever
from pipeline.types import Data, Draft, Passage


class Evidence(Data):
    """`passages[i]` is the passage of hop i, or none if the corpus has no such id."""

    passages: tuple[Passage | None, ...]


async def gather(draft: Draft, retriever: Retriever) -> Evidence:
    return Evidence(passages=tuple([await retriever.get(hop.passage_id) for hop in draft.hops]))
