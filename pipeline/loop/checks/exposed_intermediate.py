"""The question names the answer of an intermediate hop."""

import re
from collections.abc import Sequence

from pipeline.agents.cited import start
from pipeline.agents.naming import mentions, without
from pipeline.loop.checks.another_answer import FILLERS
from pipeline.loop.checks.base import ALL_STAY, Case, DraftCheck, Found, Stage
from pipeline.text import words
from pipeline.text.scripts import cased
from pipeline.types import Cause, Hop

ADVICE = f"Describe what the question names. {ALL_STAY}"


async def exposed_intermediate(case: Case) -> Found | None:
    """It saves all hops up to that one. "Nashville" is "Nashville, Tennessee"."""
    draft = case.draft
    bound = draft.program.bound if draft.program else ""
    asked = [hop.sub_question for hop in draft.hops]
    named = [number for number, hop in enumerate(draft.hops[:-1]) if _named(draft.question, hop, asked)]
    named = [n for n in named if not mentions(bound, draft.hops[n].answer)]
    hops = sorted({hop for number in named for hop in range(start(draft, number), number + 1)})
    names = " and ".join(f"'{draft.hops[number].answer}'" for number in named)
    return Found(f"the question names {names}", (*hops,)) if hops else None


def _named(question: str, hop: Hop, asked: Sequence[str]) -> bool:
    answer, *aliases = (name.split(", ")[0] for name in hop.spellings)
    return mentions(question, answer) or any(
        mentions(question, alias) and not (_meant_otherwise(question, alias, hop) or _apart(alias, answer, asked))
        for alias in aliases
    )


def _apart(alias: str, answer: str, asked: Sequence[str]) -> bool:
    """Does a sub-question name both, as two things: "Which city in Alabama does the Alabama River flow past?"?"""
    return any(mentions(one, answer) and mentions(without(one, [answer]), alias) for one in asked)


def _meant_otherwise(question: str, alias: str, hop: Hop) -> bool:
    """Is the alias of a proper name everywhere an ordinary word ("the bay"), or a part of another name ("Bay City")?
    Scripts without capitals do not show it."""
    if hop.answer == hop.answer.lower() or not cased(question):
        return False
    own = {word for name in hop.spellings for word in words(name)}
    places = list(re.finditer(rf"(?<!\w){re.escape(alias)}(?!\w)", question, re.IGNORECASE))
    return bool(places) and all(ordinary(question, place) or _in_name(question, place, own) for place in places)


def ordinary(question: str, place: re.Match[str]) -> bool:
    """A capital at the start of a sentence says nothing."""
    before = question[: place.start()]
    marks = re.split(r"\w", before)[-1]  # all that stands between the word before and this place
    opens = marks == before or any(mark in marks for mark in ".?!")
    return place[0] == place[0].lower() or (opens and {*words(place[0])} <= FILLERS)


def _in_name(question: str, place: re.Match[str], own: set[str]) -> bool:
    """Does a word with a capital, which is none of its names' own, stand beside it in one sentence?"""
    before = re.search(r"[\w,] ([^\W\d_][\w’'-]*)[ -]$", question[: place.start()])
    after = re.match(r"[ -]([^\W\d_][\w’'-]*)", question[place.end() :])
    return any(beside and beside[1][0].isupper() and not {*words(beside[1])} <= own for beside in (before, after))


CHECK = DraftCheck(Stage.SHORT, 1, Cause.OVER_SPECIFIED, advice=ADVICE, look=exposed_intermediate)
