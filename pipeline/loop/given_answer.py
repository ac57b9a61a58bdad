"""A question that contains its answer."""

import re

from pipeline.agents.answers import list_items
from pipeline.agents.name_matching import mentions
from pipeline.loop.dates_and_numbers import find_dates, find_numbers
from pipeline.loop.rival_answer import FILLERS
from pipeline.reward.equality import quantity
from pipeline.text import MONTHS, fold, numbers, words
from pipeline.text.names import normalise
from pipeline.text.scripts import has_case
from pipeline.types import AnswerType, Draft

SMALL = 12
"""Numbers up to this one often count something in a question, as in "two films"."""
_FEW = 20
"""A number up to this one may count something too, so it must be written as in the answer."""


def find_named_answers(draft: Draft) -> list[str]:
    items = [name for item in list_items(draft) for name in item.spellings]
    names = (draft.answer, *draft.answer_aliases, *items)
    return [name for name in names if not _is_small_result(draft, name) and _contains_name(draft, name)]


def _is_small_result(draft: Draft, name: str) -> bool:
    amount = quantity(name) if draft.graph.is_computed else None
    return amount is not None and amount.unit is None and abs(amount.number) <= SMALL


def _contains_name(draft: Draft, name: str) -> bool:
    """Return whether the question contains a name, or the same date or number in another form.

    The words of a bare number are not searched for: 12 is neither in 12,345 nor in 12 May.
    """
    question, kind = draft.question, draft.answer_type if name == draft.answer else None
    days = [date[:3] for date in find_dates(question)]
    if kind is AnswerType.DATE and any(date[:3] in days for date in find_dates(name)[:1]):
        return True
    number = next(iter(numbers(name)), None)
    is_bare = number is not None and number.span == (0, len(name))
    if number and (is_bare or kind is AnswerType.NUMBER):
        equal = [question[slice(*match.span)] for match in find_numbers(question) if match.value == number.value]
        if equal and (number.value > _FEW or any(normalise(text) == normalise(name) for text in equal)):
            return True
    return not is_bare and mentions(question, name) and not _is_ordinary_word(draft, name)


def _is_ordinary_word(draft: Draft, name: str) -> bool:
    """Return whether the word of a name is only an ordinary word in the question, as US in "us" and May in "may".

    A noun in small letters still gives its name away: a question about a chemistry professor names Chemistry.
    """
    question, word = draft.question, name.split()[-1]
    may_be_ordinary = (word.isupper() and len(word) > 1) or word in MONTHS or fold(word) in FILLERS
    if len(normalise(name).split()) > 1 or not may_be_ordinary or question.islower() or not has_case(question):
        return False
    pattern = re.escape(word)
    is_proper = re.search(rf"[^\s.?!]\s+{pattern}(?!\w)", draft.hops[-1].quote) is not None
    matches = [*re.finditer(rf"(?<!\w){pattern}(?!\w)", question, re.IGNORECASE)]
    return is_proper and bool(matches) and all(_is_written_as_ordinary(question, match) for match in matches)


def _is_written_as_ordinary(question: str, match: re.Match[str]) -> bool:
    """Return whether a word has small letters, or has its capital only because it opens a sentence."""
    before = question[: match.start()]
    marks = re.split(r"\w", before)[-1]  # everything between the previous word and this one
    opens = marks == before or any(mark in marks for mark in ".?!")
    return match[0] == match[0].lower() or (opens and {*words(match[0])} <= FILLERS)
