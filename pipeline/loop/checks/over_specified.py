"""One search with the question finds the passages of all hops."""

from pipeline.agents.cited import searched
from pipeline.loop.checks.base import Case, DraftCheck, Found, Stage
from pipeline.loop.checks.query_collapse import TOP
from pipeline.types import Cause


async def over_specified(case: Case) -> Found | None:
    """With some of the clues missing it does not count: a reader could not tell that the answer passage is the right
    one."""
    draft = case.draft
    search = searched(draft.question, await case.retriever.search(draft.question, min(case.k, TOP)))
    if any(hop.passage_id not in search.passage_ids for hop in draft.hops):
        return None
    return Found("one search finds these and the answer", (*range(max(1, len(draft.hops) - 1)),), (search,))


CHECK = DraftCheck(Stage.SHORT, 2, Cause.OVER_SPECIFIED, look=over_specified)
