"""Attacks from the end: does a search for a later hop find its passage before the hops that lead there are known?

Then those hops are needless, since they only lead there (MuSiQue's connectedness, Trivedi et al. 2022).
"""

import re
from collections import Counter
from collections.abc import Hashable, Sequence

from pipeline.agents.evidence import start
from pipeline.names import contains
from pipeline.text import normalise, untagged, words
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
QUERIES, AGREE = 3, 2
"""Wordings of a reader that are searched for each hop, and how many of them must make its passage stand out.

One alone may be luck: of 12 hops that a strong reader's wordings found in 12 drafts, two were found by two wordings,
and both could be skipped. Of the ten others at least two could not: "financially motivated threat group active since at
least" found the right group by chance.
"""
GAP = "…"
_GAPS = re.compile(rf"{GAP}(?:\s*{GAP})+")
_WORD = re.compile(r"[^\W_]+(?:['’.,\-][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def later(draft: Draft) -> list[int]:
    """The hops that others lead to."""
    return [number for number in range(1, len(draft.hops)) if start(draft, number) < number]


def masked(draft: Draft, number: int) -> str:
    """The words of `gapped` alone: what the free check searches for."""
    return " ".join(_WORD.findall(gapped(draft, number)))


def gapped(draft: Draft, number: int) -> str:
    """A hop's own question with a gap for what only the hops before it give: names, their words, and numbers.

    What the question itself says stays, and so does the kind of what is left out ("the city") where the hop says it.
    """
    names = _names(draft, number)
    known = {normalise(word) for word in _WORD.findall(draft.question)}
    hidden = {normalise(word) for name in names for word in _WORD.findall(name)} - known
    text = draft.hops[number].sub_question
    # As wholes first, since not every script parts words by blanks.
    for name in sorted(names, key=len, reverse=True):
        if not contains(draft.question, name):
            text = re.sub(rf"{re.escape(name)}(?:['’]s?)?", GAP, text, flags=re.IGNORECASE)
    text = _NUMBER.sub(lambda found: found[0] if found[0] in draft.question else GAP, text)
    text = _WORD.sub(lambda found: GAP if normalise(found[0]) in hidden else found[0], text)
    return _GAPS.sub(GAP, text).strip()


def queries(draft: Draft, number: int, written: Sequence[str]) -> list[str]:
    """The first few of what was written for a hop, without those that name what only the hops would give: whoever wrote
    such a name knew it by heart. The same words in another order are no other wording."""
    own = (name for names in draft.wanted(number) for name in names)
    secret = [name for name in (*_names(draft, number), *own) if not contains(draft.question, name)]
    fair: dict[frozenset[str], str] = {}
    for query in written:
        if not any(contains(query, name) for name in secret):
            fair.setdefault(frozenset(words(query)), query.strip())
    return [query for said, query in fair.items() if said][:QUERIES]


def identity(draft: Draft, number: int) -> Hashable:
    """What stays the same while a hop and what leads to it do, however the question is worded."""
    hop = draft.hops[number]
    before = tuple(earlier.answer for earlier in draft.hops[start(draft, number) : number])
    return before, hop.sub_question, hop.answer, hop.passage_id


def kept(draft: Draft, question: str, queries: Sequence[str]) -> tuple[str, ...]:
    """Queries that were written for an earlier wording of the question, without the words that it alone held: what an
    author has taken out leads nobody any more."""
    gone = {*words(question)} - {*words(draft.question)}
    return tuple(
        query if gone.isdisjoint(words(query)) else " ".join(w for w in query.split() if gone.isdisjoint(words(w)))
        for query in queries
    )


def _names(draft: Draft, number: int) -> set[str]:
    """Answers and titles up to the hop: a title is mostly a longer form of what leads there."""
    first = start(draft, number)
    titles = [hop.title for hop in draft.hops[first : number + 1]]
    answers = [name for hop in draft.hops[first:number] for name in hop.spellings]
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


def agreed(found: Sequence[tuple[int, Searched]]) -> list[tuple[int, Searched]]:
    """Of a reader's searches that made the passage of their hop stand out, those of hops that enough of them found."""
    wordings = Counter(number for number, _ in found)
    return [(number, search) for number, search in found if wordings[number] >= AGREE]


def finding(draft: Draft, found: Sequence[tuple[int, Searched]]) -> list[Finding]:
    """What these searches say, each with the hop whose passage stood out in it. Needless are the hops before the last
    of these."""
    numbers = sorted({number for number, _ in found})
    if not numbers:
        return []
    queries = [[search.query for number, search in found if number == one] for one in numbers]
    return [
        Finding(
            check="skip_ahead",
            cause=Cause.SUPERFICIAL,
            fatal=False,
            hops=tuple(sorted({hop for number in numbers for hop in range(start(draft, number), number)})),
            detail="; ".join(_detail(draft, number, own) for number, own in zip(numbers, queries, strict=True)),
            searches=tuple(search for _, search in found),
        )
    ]


def found_hops(draft: Draft, searches: Sequence[Searched]) -> tuple[int, ...]:
    """The hops whose passages stand first in the searches of a finding: those to change. The ones before them are
    needless, and not at fault."""
    first = {search.passage_ids[0] for search in searches if search.passage_ids}
    return tuple(number for number, hop in enumerate(draft.hops) if hop.passage_id in first)


def _detail(draft: Draft, number: int, queries: Sequence[str]) -> str:
    skipped = draft.hops[start(draft, number) : number]
    before = " and ".join(f"'{hop.answer}'" for hop in skipped)
    without = f"the hop that gives {before}" if len(skipped) == 1 else f"the hops that give {before}"
    said = " and ".join(f"'{query}'" for query in queries)
    search = f"the search {said} finds" if len(queries) == 1 else f"the searches {said} find"
    return f"{search} the passage that gives '{draft.hops[number].answer}' without {without}"
