"""Attacks from the end: does a search for a later hop find its passage before the hops that lead there are known?

Then those hops are needless, since they only lead there (MuSiQue's connectedness, Trivedi et al. 2022).
"""

import re
from collections.abc import Sequence

from pipeline.text import contains, normalise, untagged
from pipeline.types import Cause, Draft, Finding, Hit, Searched

DEPTH = 10
"""Hits of one such search."""
LEAD, RIVALS = 0.75, 5
"""How far ahead of the next document the passage must be, as a share of how far that is ahead of the fifth.

A passage that is merely among the first is no shortcut: what tells it from its neighbours is what was left out, so
nobody could say that it is the one ("the population of the county in 2018"). Of 138 drafts, 109 of the demo model and
29 of a strong one, 74 had such a passage among the first three and 50 had one with this lead. It is a
share, and no score, so that it means the same with every engine.
"""
QUERIES = 3
"""Wordings of a reader that are searched for each hop."""
_WORD = re.compile(r"[^\W_]+(?:['’.,\-][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def masked(draft: Draft, number: int) -> str:
    """A hop's own question without what only the hops before it give: names, their words, and numbers.

    What the question itself says stays, and so does the kind of what is left out ("the city") where the hop says it.
    """
    names = _names(draft, number)
    known = {normalise(word) for word in _WORD.findall(draft.question)}
    hidden = {normalise(word) for name in names for word in _WORD.findall(name)} - known
    text = draft.hops[number].sub_question
    # As wholes first, since not every script parts words by blanks.
    for name in sorted(names, key=len, reverse=True):
        if not contains(draft.question, name):
            text = re.sub(rf"{re.escape(name)}(?:['’]s?)?", " ", text, flags=re.IGNORECASE)
    text = _NUMBER.sub(lambda found: found[0] if found[0] in draft.question else " ", text)
    return " ".join(word for word in _WORD.findall(text) if normalise(word) not in hidden)


def queries(draft: Draft, number: int, written: Sequence[str]) -> list[str]:
    """The first few of what was written for a hop, each once, without those that name what only the hops would give:
    whoever wrote such a name knew it by heart."""
    secret = [
        name for name in (*_names(draft, number), draft.hops[number].answer) if not contains(draft.question, name)
    ]
    fair = [query.strip() for query in written if not any(contains(query, name) for name in secret)]
    return list(dict.fromkeys(filter(None, fair)))[:QUERIES]


def _names(draft: Draft, number: int) -> set[str]:
    """Answers and titles up to the hop: a title is mostly a longer form of what leads there."""
    titles = [hop.title for hop in draft.hops[: number + 1]]
    answers = [hop.answer for hop in draft.hops[:number]]
    return {name for name in (*answers, *titles, *map(untagged, titles)) if name}


def stands_out(hits: Sequence[Hit], passage_id: str) -> bool:
    """Is that passage the first, and its document far ahead of all others?"""
    if not hits or hits[0].passage.id != passage_id:
        return False
    best: dict[str, float] = {}
    for hit in hits:
        best.setdefault(hit.passage.document_id, hit.score)
    scores = [*best.values()][:RIVALS]
    return len(scores) == 1 or scores[0] - scores[1] > LEAD * (scores[1] - scores[-1])


def finding(draft: Draft, found: Sequence[tuple[int, Searched]]) -> list[Finding]:
    """What these searches say, each with the hop whose passage stood out in it."""
    if not found:
        return []
    last = max(number for number, _ in found)
    query = next(search.query for number, search in found if number == last)
    answer = draft.hops[last].answer
    detail = f"the search '{query}' finds the passage that gives '{answer}' without the hops before it"
    searches = tuple(search for _, search in found)
    return [
        Finding(
            check="skip_ahead",
            cause=Cause.SUPERFICIAL,
            fatal=False,
            hops=tuple(range(last)),
            detail=detail,
            searches=searches,
        )
    ]
