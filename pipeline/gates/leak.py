"""Questions that contain their answer, in its own words or as the same date or number written in another way.

A question that offers its answer among others ("A or B", "between A and B") passes, and so does the answer "yes".
Such an offer is known by English words alone: in another language a question that names its answer is dropped.
"""

import re

from pipeline.config.gates import GateConfig
from pipeline.gates.base import YES_NO
from pipeline.loop.checks.answer_in_question import counts
from pipeline.text import dates, numbers
from pipeline.text.names import contains, normalise
from pipeline.types import AnswerType, Draft, Record

_SMALL = 20
"""Numbers up to this one are words of many questions ("two brothers"); they count only where they stand as the answer
does."""
_COMPARES = re.compile(
    r"\b(?:first|last|earlier|later|older|younger|longer|more|less|before|after|recently|most|both|same)\b"
)


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    # A comparison names its answer, in whatever language; the audit sees to it that it offers another one too.
    if draft.answer_type is AnswerType.COMPARISON:
        return ""
    named = (draft.answer, *draft.answer_aliases, *(name for item in draft.answer_items for name in item.spellings))
    answers = [answer for answer in named if normalise(answer) not in YES_NO]
    question = draft.question
    # A small number counts something in many questions ("two groups"), and tells nothing of one that is computed.
    answers = [answer for answer in answers if not counts(draft, answer)]
    leaked = [answer for answer in answers if contains(question, answer) and not _offered(question, answer)]
    same = {AnswerType.DATE: _same_date, AnswerType.NUMBER: _same_number}.get(draft.answer_type)
    return "the question contains its answer" if leaked or (same and same(question, draft.answer)) else ""


def _offered(question: str, answer: str) -> bool:
    """Is it one of several to choose from, in English words?"""
    name = re.escape(normalise(answer))
    words = normalise(question)
    beside = rf"\b{name}\b(?: \w+){{0,8}} or \b|\bor (?:\w+ ){{0,4}}{name}\b"
    among = rf"\b(?:which|who|whose|what|between|of)\b.*(?:\b{name}\b.* and | and .*\b{name}\b)"
    return bool(re.search(beside, words) or (re.search(among, words) and _COMPARES.search(words)))


def _same_date(question: str, answer: str) -> bool:
    known = dates(answer)
    return bool(known) and known[0][:3] in [found[:3] for found in dates(question)]


def _same_number(question: str, answer: str) -> bool:
    known = numbers(answer)
    return bool(known) and known[0].value > _SMALL and any(n.value == known[0].value for n in numbers(question))
