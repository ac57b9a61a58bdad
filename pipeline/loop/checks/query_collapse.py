"""Can fewer searches do? Each check names the hops that a solver would not have to take.

The causes are those of SAGE's failure analysis; the closed corpus makes them computable before any rollout.
"""

import re
from collections.abc import Iterable

from pipeline.agents.evidence import Evidence, searched, start
from pipeline.agents.mentions import mentions
from pipeline.retrieval.base import Retriever
from pipeline.text import numbers
from pipeline.types import Cause, Draft, Finding, Searched

SMALL = 100
"""A number below it stands in many passages."""
TOP = 3
"""How far down a list of results a shortcut counts: on MuSiQue, 5 call 21 % of the questions too easy, 3 call 16 %."""


def _finding(
    check: str, cause: Cause, detail: str, hops: Iterable[int], searches: Iterable[Searched] = ()
) -> list[Finding]:
    found = Finding(check=check, cause=cause, fatal=False, hops=tuple(hops), detail=detail, searches=tuple(searches))
    return [found] if found.hops else []


async def exposed_intermediate(draft: Draft, evidence: Evidence, retriever: Retriever, k: int) -> list[Finding]:
    """An intermediate answer that the question names saves all hops up to it. "Nashville" is "Nashville, Tennessee"."""
    named = [
        number
        for number, hop in enumerate(draft.hops[:-1])
        if any(mentions(draft.question, name.split(", ")[0]) for name in hop.spellings)
    ]
    hops = sorted({hop for number in named for hop in range(start(draft, number), number + 1)})
    names = " and ".join(f"'{draft.hops[number].answer}'" for number in named)
    return _finding("exposed_intermediate", Cause.OVER_SPECIFIED, f"the question names {names}", hops)


async def over_specified(draft: Draft, evidence: Evidence, retriever: Retriever, k: int) -> list[Finding]:
    """One search with the question finds the answer passage together with all the clues that lead there.

    With some of the clues missing it does not count: a reader could not tell that the answer passage is the right one.
    """
    search = searched(draft.question, await retriever.search(draft.question, min(k, TOP)))
    if any(hop.passage_id not in search.passage_ids for hop in draft.hops):
        return []
    hops = range(max(1, len(draft.hops) - 1))
    return _finding("over_specified", Cause.OVER_SPECIFIED, "one search finds these and the answer", hops, [search])


async def co_located(draft: Draft, evidence: Evidence, retriever: Retriever, k: int) -> list[Finding]:
    """A passage that already gives the next hop's answer. Two hops never cite one passage: `one_document` is fatal."""
    hops, said = [], []
    for i in range(1, len(draft.hops)):
        before = evidence[i - 1]
        if before is None or start(draft, i) == i or draft.hops[i].answer == draft.hops[i - 1].answer:
            continue  # each clue of a conjunction gives the same
        told = f"{before.title} {before.text}"
        quote = draft.hops[i].quote
        if all(
            any(mentions(told, form) for name in names for form in _counted(name, quote)) for names in draft.wanted(i)
        ):
            hops.append(i)
            said.append(f"'{before.title}', the passage before, already names '{draft.hops[i].answer}'")
    return _finding("co_located", Cause.CO_LOCATED, "; ".join(said), hops)


def _counted(name: str, quote: str) -> list[str]:
    """The name; of a small bare number, which may stand anywhere for something else, with what it counts in the quote:
    "six companies"."""
    value = numbers(name)[:1]
    if not value or value[0].span != (0, len(name)) or value[0].value >= SMALL:
        return [name]
    return re.findall(rf"(?<![\w.,]){re.escape(name)}[ \xa0-][^\W\d_]+", quote, re.IGNORECASE)


async def query_collapse(draft: Draft, evidence: Evidence, retriever: Retriever, k: int) -> list[Finding]:
    """One hop's own query also brings the passage of a later hop."""
    queries = [hop.sub_question for hop in draft.hops]
    results = await retriever.search_many(queries, min(k, TOP))
    hops: set[int] = set()
    searches = []
    for i, search in enumerate(map(searched, queries, results)):
        later = {n for n in range(i + 1, len(draft.hops)) if draft.hops[n].passage_id in search.passage_ids}
        searches += [search] if later else []
        hops |= later
    detail = "an earlier hop's query finds these too"
    return _finding("query_collapse", Cause.QUERY_COLLAPSE, detail, sorted(hops), searches)


CHECKS = (exposed_intermediate, over_specified, co_located, query_collapse)
SEARCHES = (over_specified, query_collapse)
"""Of these the ones that another retriever may decide otherwise."""
