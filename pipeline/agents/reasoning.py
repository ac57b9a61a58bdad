"""What a question mainly asks of whoever answers it, beyond reading: from its draft alone, without a model.

The hops, the type of the answer and how the question was made say most of it, in any language; that something is
denied, reckoned or put in order of time may stand in the words of the question alone, which are read in English.
"""

import re
from enum import StrEnum

from pipeline.agents.cited import ends
from pipeline.text import dates
from pipeline.text.names import normalise
from pipeline.types import CONSTRAINTS, AnswerType, Draft


class Reasoning(StrEnum):
    """The first that fits a question counts: the rarer ones come first."""

    NEGATION = "negation"
    """It leaves out what is so, or asks for what is not."""
    AGGREGATION = "aggregation"
    """It asks for several things, all of them, or for their count or sum."""
    CALCULATION = "calculation"
    """Its answer is reckoned from what the passages state."""
    COMPARISON = "comparison"
    """What two or more chains find is compared."""
    TEMPORAL = "temporal"
    """A date that one hop gives, or an order in time, leads to the next."""
    CONJUNCTION = "conjunction"
    """Several clues or chains meet in one thing."""
    BRIDGE = "bridge"
    """What one hop gives is what the next one asks about."""
    LOOKUP = "lookup"
    """One hop."""


# In small letters: a title that denies something ("Never Cry Wolf") makes no negation.
_NEGATION = re.compile(r"\b(?:not|never|neither|nor|without|except|excluding|other than|no(?= [a-z])|[a-z]+n['’]t)\b")
_UNITS = r"(?:years?|months?|weeks?|days?|hours?|decades?|centuries|century)"
_MORE = "more|fewer|less|older|younger|longer|taller|larger|apart|combined|together"
_APART = "after|before|between|pass(?:ed)?|elapsed?|earlier|later|separate"
# The distance is bounded, so that a text of many "how many" takes no quadratic time.
_CALCULATION = re.compile(
    rf"\bhow (?:many|much)\b.{{0,300}}\b(?:{_MORE})\b|\bhow many {_UNITS}\b.{{0,300}}\b(?:{_APART})\b|\bdifference\b",
    re.IGNORECASE,
)
_TEMPORAL = re.compile(
    rf"\b(?:before|until|during|earlier|later|{_UNITS} after|same (?:year|season|month|day|decade))\b", re.IGNORECASE
)
_TIME = frozenset("date day decade month time year".split())


_COMPUTED = {"count": Reasoning.AGGREGATION, "sum": Reasoning.AGGREGATION, "difference": Reasoning.CALCULATION}


def reasoning(draft: Draft) -> Reasoning:
    asked, kind = draft.question, draft.answer_type
    if draft.program:
        return _COMPUTED.get(draft.program.operation, Reasoning.COMPARISON)
    # What the text around gaps says is asked of nobody.
    if draft.family == CONSTRAINTS or (draft.ordered and len(ends(draft)) > 1):
        return Reasoning.CONJUNCTION
    if _NEGATION.search(asked) and not draft.ordered:
        return Reasoning.NEGATION
    if kind is AnswerType.LIST:
        return Reasoning.AGGREGATION
    if _reckoned(draft):
        return Reasoning.CALCULATION
    if kind is AnswerType.COMPARISON or (kind.decided and len(ends(draft)) > 1):
        return Reasoning.COMPARISON
    if _TEMPORAL.search(asked) or any(_dated(hop.answer, hop.answer_kind) for hop in draft.hops[:-1]):
        return Reasoning.TEMPORAL
    if draft.joined:
        return Reasoning.CONJUNCTION
    return Reasoning.BRIDGE if len(draft.hops) > 1 else Reasoning.LOOKUP


def _reckoned(draft: Draft) -> bool:
    """Does the question ask for a sum or a difference, or is the answer none that its last hop states?"""
    if draft.answer_type not in (AnswerType.NUMBER, AnswerType.DATE):
        return False
    return bool(_CALCULATION.search(draft.question)) or normalise(draft.hops[-1].answer) != normalise(draft.answer)


def _dated(answer: str, kind: str) -> bool:
    """Is what a hop gives a date and nothing else, by its author's word or its form?"""
    found = dates(answer)
    return kind.lower() in _TIME or (bool(found) and found[0].span == (0, len(answer)))
