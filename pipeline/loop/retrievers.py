"""What one search of each retriever of the audit finds of an accepted question."""

from pipeline.agents.cited import record_search
from pipeline.context import RunContext
from pipeline.retrieval.base import Retriever
from pipeline.types import Draft, OneSearch, Record, Status


async def with_one_search(record: Record, context: RunContext) -> Record:
    """An accepted record with what one search of each retriever of the audit finds, where there are several."""
    draft, k = record.draft, context.config.retrieval.k
    if record.status is not Status.ACCEPTED or draft is None or not context.others:
        return record
    named = {context.config.retrieval.identity: context.retriever, **context.others}
    found = tuple([await _one_search(draft, name, retriever, k) for name, retriever in named.items()])
    return record.model_copy(update={"one_search": found})


async def _one_search(draft: Draft, name: str, retriever: Retriever, k: int) -> OneSearch:
    queries = [draft.question, *(hop.sub_question for hop in draft.hops)]
    asked, *parts = [record_search("", hits).passage_ids for hits in await retriever.search_many(queries, k)]
    return OneSearch(
        retriever=name,
        question_hops=tuple(n for n, hop in enumerate(draft.hops) if hop.passage_id in asked),
        sub_question_hops=tuple(n for n, hop in enumerate(draft.hops) if hop.passage_id in parts[n]),
    )
