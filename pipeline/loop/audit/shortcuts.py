"""Can fewer searches do? Each check names the hops that a solver would not have to take.

The causes are those of SAGE's failure analysis; the closed corpus makes them computable before any rollout.
"""

from pipeline.agents.evidence import Evidence
from pipeline.retrieval.base import Retriever
from pipeline.text import contains
from pipeline.types import Cause, Draft, Finding

TOP = 3
"""How far down a list of results a shortcut counts: on MuSiQue, 5 call 21 % of the questions too easy, 3 call 16 %."""


def _finding(check: str, cause: Cause, detail: str, *hops: int) -> list[Finding]:
    return [Finding(check=check, cause=cause, fatal=False, hops=hops, detail=detail)] if hops else []


async def exposed_intermediate(draft: Draft, evidence: Evidence, retriever: Retriever, k: int) -> list[Finding]:
    """An intermediate answer that the question names saves all hops up to it. "Nashville" is "Nashville, Tennessee"."""
    named = [i for i, hop in enumerate(draft.hops[:-1]) if contains(draft.question, hop.answer.split(", ")[0])]
    hops = range(named[-1] + 1) if named else ()
    return _finding("exposed_intermediate", Cause.OVER_SPECIFIED, "the question names the answers of these hops", *hops)


async def over_specified(draft: Draft, evidence: Evidence, retriever: Retriever, k: int) -> list[Finding]:
    """One search with the question finds the answer passage together with all the clues that lead there.

    With some of the clues missing it does not count: a reader could not tell that the answer passage is the right one.
    """
    found = {hit.passage.id for hit in await retriever.search(draft.question, min(k, TOP))}
    if any(hop.passage_id not in found for hop in draft.hops):
        return []
    hops = range(max(1, len(draft.hops) - 1))
    return _finding("over_specified", Cause.OVER_SPECIFIED, "one search finds these and the answer", *hops)


async def co_located(draft: Draft, evidence: Evidence, retriever: Retriever, k: int) -> list[Finding]:
    """A passage that already gives the next hop's answer. Two hops never cite one passage: `one_document` is fatal."""
    hops = []
    for i in range(1, len(draft.hops)):
        before, hop = evidence[i - 1], draft.hops[i]
        if before and contains(f"{before.title} {before.text}", hop.answer):
            hops.append(i)
    return _finding("co_located", Cause.CO_LOCATED, "the passage before already answers these hops", *hops)


async def query_collapse(draft: Draft, evidence: Evidence, retriever: Retriever, k: int) -> list[Finding]:
    """One hop's own query also brings the passage of a later hop."""
    results = await retriever.search_many([hop.sub_question for hop in draft.hops], min(k, TOP))
    homes = [hop.passage_id for hop in draft.hops]
    hops = {
        later
        for i, hits in enumerate(results)
        for later in range(i + 1, len(homes))
        if homes[later] in {hit.passage.id for hit in hits}
    }
    return _finding("query_collapse", Cause.QUERY_COLLAPSE, "an earlier hop's query finds these too", *sorted(hops))


CHECKS = (exposed_intermediate, over_specified, co_located, query_collapse)
