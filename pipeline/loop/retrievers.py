"""The audit over several retrievers: whose finding it is, and what a searcher with one of them can do without."""

from collections.abc import Sequence

from pipeline.agents.cited import searched
from pipeline.context import RunContext
from pipeline.retrieval.base import Retriever
from pipeline.types import Draft, Finding, OneSearch, Record, Status


def by(retriever: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings as those of the retriever of that name."""
    theirs = []
    for finding in findings:
        searches = tuple(search.model_copy(update={"retriever": retriever}) for search in finding.searches)
        detail = f"over {retriever}, {finding.detail}"
        theirs.append(finding.model_copy(update={"detail": detail, "searches": searches}))
    return tuple(theirs)


def too_easy(draft: Draft, target: int, findings: Sequence[Finding], finding: Finding) -> bool:
    """Do fewer hops than the target remain, by `findings`, for a searcher who has the retriever of this one of them?

    What two retrievers find does not add up. A finding without a search holds for all.
    """
    searchers = _retrievers(finding) or {name for other in findings for name in _retrievers(other)} or {""}
    needless = ({hop for f in findings if _retrievers(f) <= {name} for hop in f.hops} for name in searchers)
    return any(len(draft.hops) - len(hops) < target for hops in needless)


def _retrievers(finding: Finding) -> set[str]:
    return {search.retriever for search in finding.searches}


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
    asked, *parts = [searched("", hits).passage_ids for hits in await retriever.search_many(queries, k)]
    return OneSearch(
        retriever=name,
        question_hops=tuple(n for n, hop in enumerate(draft.hops) if hop.passage_id in asked),
        sub_question_hops=tuple(n for n, hop in enumerate(draft.hops) if hop.passage_id in parts[n]),
    )
