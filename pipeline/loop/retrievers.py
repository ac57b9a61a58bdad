"""What one search with each retriever of the audit finds for an accepted question."""

from pipeline.agents.cited import record_search
from pipeline.context import RunContext
from pipeline.retrieval.base import Retriever
from pipeline.types import Draft, OneSearch, Record, Status


async def add_one_search(record: Record, context: RunContext) -> Record:
    """Add to an accepted record what one search with each retriever finds, if the audit has several."""
    draft, k = record.draft, context.config.retrieval.k
    if record.status is not Status.ACCEPTED or draft is None or not context.others:
        return record
    retrievers = {context.config.retrieval.identity: context.retriever, **context.others}
    searches = tuple([await _search_once(draft, name, retriever, k) for name, retriever in retrievers.items()])
    return record.model_copy(update={"one_search": searches})


async def _search_once(draft: Draft, name: str, retriever: Retriever, k: int) -> OneSearch:
    queries = [draft.question, *(hop.sub_question for hop in draft.hops)]
    results = [record_search("", hits).passage_ids for hits in await retriever.search_many(queries, k)]
    return OneSearch(
        retriever=name,
        question_hops=tuple(n for n, hop in enumerate(draft.hops) if hop.passage_id in results[0]),
        sub_question_hops=tuple(n for n, hop in enumerate(draft.hops) if hop.passage_id in results[n + 1]),
    )
