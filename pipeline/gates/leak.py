"""Questions that contain their answer, in its own words or as the same date or number written in another way.

A question that offers its answer among others ("A or B", "between A and B") passes, and so does the answer "yes".
Such an offer is recognised by English words only: in other languages a question that names its answer is dropped.
"""

import re

from pipeline.agents.answers import may_be_named
from pipeline.config.exports import GateConfig
from pipeline.gates.base import YES_NO, Gate
from pipeline.loop.given_answer import find_named_answers
from pipeline.text.names import normalise
from pipeline.types import AnswerType, Draft, Record

_COMPARES = re.compile(
    r"\b(?:first|last|earlier|later|older|younger|longer|more|less|before|after|recently|most|both|same)\b"
)

_ASKS = re.compile(r"\b(?:which|who|whose|what|between|of)\b")
_AND = " and "


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    if may_be_named(draft):
        return ""
    # A date or a number beside "and" or "or" is not necessarily a choice.
    may_be_choice = draft.answer_type not in (AnswerType.DATE, AnswerType.NUMBER)
    leaked = [answer for answer in find_named_answers(draft) if normalise(answer) not in YES_NO]
    leaked = [answer for answer in leaked if not (may_be_choice and _is_choice(draft.question, answer))]
    return "the question contains its answer" if leaked else ""


def _is_choice(question: str, answer: str) -> bool:
    """Return whether the question offers the answer as one of several, in English words."""
    name = re.escape(normalise(answer))
    words = normalise(question)
    beside = rf"\b{name}\b(?: \w+){{0,8}} or \b|\bor (?:\w+ ){{0,4}}{name}\b"
    return bool(re.search(beside, words) or (_COMPARES.search(words) and _is_among(words, name)))


def _is_among(words: str, name: str) -> bool:
    """Return whether the name stands on one side of an "and" that follows a question word."""
    asks = _ASKS.search(words)
    choices = words[asks.end() :] if asks else ""
    spans = [match.span() for match in re.finditer(rf"\b{name}\b", choices)]
    first, last = choices.find(_AND), choices.rfind(_AND)
    return bool(spans) and (last >= spans[0][1] or 0 <= first <= spans[-1][0] - len(_AND))


GATE = Gate(check)
