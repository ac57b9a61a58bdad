"""The search for one hop also finds the passage of a later hop."""

from pipeline.agents.cited import searched, start
from pipeline.loop.checks.base import Case, DraftCheck, Found, Stage
from pipeline.types import Cause

TOP = 3
"""How far down a list of results a shortcut counts: on MuSiQue, 5 call 21 % of the questions too easy, 3 call 16 %."""


async def query_collapse(case: Case) -> Found | None:
    hops = case.draft.hops
    queries = [hop.sub_question for hop in hops]
    results = await case.retriever.search_many(queries, min(case.k, TOP))
    collapsed: set[int] = set()
    searches = []
    for i, search in enumerate(map(searched, queries, results)):
        later = {n for n in range(i + 1, len(hops)) if hops[n].passage_id in search.passage_ids}
        if case.draft.program:
            later = {n for n in later if start(case.draft, n) <= i}  # of what joins them one search may find several
        searches += [search] if later else []
        collapsed |= later
    detail = "an earlier hop's query finds these too"
    return Found(detail, (*sorted(collapsed),), (*searches,)) if collapsed else None


CHECK = DraftCheck(Stage.SHORT, 4, Cause.QUERY_COLLAPSE, wording=True, look=query_collapse)
