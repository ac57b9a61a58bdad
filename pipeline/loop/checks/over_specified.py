"""One search with the question finds the passages of all hops."""

from pipeline.agents.cited import searched, start
from pipeline.agents.naming import without
from pipeline.loop.checks.base import Case, DraftCheck, Found, Stage
from pipeline.loop.checks.query_collapse import TOP
from pipeline.text import untagged
from pipeline.types import Cause, Draft


async def over_specified(case: Case) -> Found | None:
    """With some of the clues missing it does not count: a reader could not tell that the answer passage is the right
    one. The names that an aggregate cannot do without are left out of the search."""
    draft = case.draft
    query = without(draft.question, _needed(draft)) if draft.program else draft.question
    search = searched(query, await case.retriever.search(query, min(case.k, TOP)))
    if any(hop.passage_id not in search.passage_ids for hop in draft.hops):
        return None
    return Found("one search finds these and the answer", (*range(len(draft.hops) - 1),), (search,))


def _needed(draft: Draft) -> list[str]:
    """What joins the things of a program's set; or these things, where the question names each of them."""
    if (program := draft.program) is None or program.set_question:
        return [program.link] if program else []
    titles = [untagged(draft.hops[start(draft, one.hop)].title) for one in program.values]
    return [*titles, *(title.split(", ")[0] for title in titles), *(one.name for one in program.values)]


CHECK = DraftCheck(Stage.SHORT, 2, Cause.OVER_SPECIFIED, wording=True, look=over_specified)
