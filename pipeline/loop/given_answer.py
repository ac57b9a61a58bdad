"""A question that contains its answer."""

import re

from pipeline.agents.answers import list_items
from pipeline.agents.naming import mentions
from pipeline.loop.dates_and_numbers import counted, dated
from pipeline.loop.rival_answer import FILLERS
from pipeline.reward.equality import quantity
from pipeline.text import MONTHS, fold, numbers, words
from pipeline.text.names import normalise
from pipeline.text.scripts import has_case
from pipeline.types import AnswerType, Draft

SMALL = 12
"""Numbers up to this one stand in many questions to count something: "two films"."""
_FEW = 20
"""A number up to this one, which may count something too, must stand as the answer does."""


def find_named_answers(draft: Draft) -> list[str]:
    """Return the names of the answer, and of its items, that the question gives."""
    items = [name for item in list_items(draft) for name in item.spellings]
    names = (draft.answer, *draft.answer_aliases, *items)
    return [name for name in names if not _counts(draft, name) and _gives(draft, name)]


def _counts(draft: Draft, name: str) -> bool:
    """Return whether it is a small number, in figures or in words, of a draft whose answer is computed."""
    amount = quantity(name) if draft.graph.is_computed else None
    return amount is not None and amount.unit is None and abs(amount.number) <= SMALL


def _gives(draft: Draft, name: str) -> bool:
    """Return whether the question gives this name, or the date or number that it is.

    The words of a bare number say nothing: 12 is neither in 12,345 nor in 12 May.
    """
    question, kind = draft.question, draft.answer_type if name == draft.answer else None
    if kind is AnswerType.DATE and (date := dated(name)) and date[0][:3] in {one[:3] for one in dated(question)}:
        return True
    number = next(iter(numbers(name)), None)
    bare = number is not None and number.span == (0, len(name))
    if number and (bare or kind is AnswerType.NUMBER):
        same = [question[slice(*one.span)] for one in counted(question) if one.value == number.value]
        if same and (number.value > _FEW or any(normalise(one) == normalise(name) for one in same)):
            return True
    return not bare and mentions(question, name) and not _other_word(draft, name)


def _other_word(draft: Draft, name: str) -> bool:
    """Return whether the question has the word of a name only as an ordinary word: US as us, May as may.

    A noun in small letters gives its name: a question about a chemistry professor names Chemistry.
    """
    question, word = draft.question, name.split()[-1]
    little = (word.isupper() and len(word) > 1) or word in MONTHS or fold(word) in FILLERS
    if len(normalise(name).split()) > 1 or not little or question.islower() or not has_case(question):
        return False
    written = re.escape(word)
    proper = re.search(rf"[^\s.?!]\s+{written}(?!\w)", draft.hops[-1].quote)
    places = [*re.finditer(rf"(?<!\w){written}(?!\w)", question, re.IGNORECASE)]
    return proper is not None and bool(places) and all(_is_ordinary(question, place) for place in places)


def _is_ordinary(question: str, place: re.Match[str]) -> bool:
    """Return whether it is an ordinary word: a capital at the start of a sentence says nothing."""
    before = question[: place.start()]
    marks = re.split(r"\w", before)[-1]  # all that stands between the word before and this place
    opens = marks == before or any(mark in marks for mark in ".?!")
    return place[0] == place[0].lower() or (opens and {*words(place[0])} <= FILLERS)
