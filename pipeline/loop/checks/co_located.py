"""The passage of one hop already gives the answer of the next."""

import re
from itertools import permutations

from pipeline.agents.cited import start
from pipeline.agents.naming import mentions
from pipeline.loop.checks.base import Case, DraftCheck, Found, Stage
from pipeline.text import numbers, sentences, untagged
from pipeline.types import Cause, Hop, Passage

SMALL = 100
"""A number below it stands in many passages."""
FREQUENT = 50
"""A word that as many passages hold, such as "American", may stand in any for something else."""


async def co_located(case: Case) -> Found | None:
    """Two hops never cite one passage: `one_document` is fatal. Of a program no passage tells another value."""
    draft, hops, said = case.draft, [], []
    for i in range(1, len(draft.hops)):
        before = case.evidence[i - 1]
        if before is None or start(draft, i) == i or draft.hops[i].answer == draft.hops[i - 1].answer:
            continue  # each clue of a conjunction gives the same
        wanted = [[form for name in names for form in _counted(name, draft.hops[i].quote)] for names in draft.wanted(i)]
        if not all(any(mentions(_read(before), form) for form in forms) for forms in wanted):
            continue
        if not await _frequent(case, draft.hops[i].answer) or _said_of(before, draft.hops[i - 1], draft.hops[i].answer):
            hops.append(i)
            said.append(f"'{before.title}', the passage before, already names '{draft.hops[i].answer}'")
    for number, other in permutations([one.hop for one in draft.program.values] if draft.program else (), 2):
        passage, hop = case.evidence[other], draft.hops[number]
        names = _counted(hop.answer, hop.quote), (untagged(hop.title),)
        if passage and all(any(mentions(_read(passage), form) for form in forms) for forms in names):
            hops.append(number)
            said.append(f"'{passage.title}' tells '{hop.answer}' of '{hop.title}' too")
    return Found("; ".join(said), tuple(sorted({*hops}))) if hops else None


def _read(passage: Passage) -> str:
    return f"{passage.title} {passage.text}"


async def _frequent(case: Case, answer: str) -> bool:
    if numbers(answer):
        return False
    # A stemmer finds other forms of the word too, "Americans" and "America".
    hits = await case.retriever.search(answer, 2 * FREQUENT)
    return sum(mentions(_read(hit.passage), answer) for hit in hits) >= FREQUENT


def _said_of(passage: Passage, thing: Hop, word: str) -> bool:
    """Does a sentence of the passage hold the word beside the thing, or is all of the passage about that?"""
    parts = [passage.text[start:end] for start, end in sentences(passage.text)]
    said = " ".join([passage.title, *(part for part in parts if mentions(part, word))])
    return any(mentions(said, name) for name in thing.spellings)


def _counted(name: str, quote: str) -> list[str]:
    """The name; of a small bare number, which may stand anywhere for something else, with what it counts in the quote:
    "six companies"."""
    value = numbers(name)[:1]
    if not value or value[0].span != (0, len(name)) or value[0].value >= SMALL:
        return [name]
    return re.findall(rf"(?<![\w.,]){re.escape(name)}[ \xa0-][^\W\d_]+", quote, re.IGNORECASE)


CHECK = DraftCheck(Stage.SHORT, 3, Cause.CO_LOCATED, look=co_located)
