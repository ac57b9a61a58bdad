"""What a question mainly asks of whoever answers it, beyond reading: from its draft alone, without a model.

The evidence graph says most of it, in any language; that something is denied, reckoned or put in order of time may
stand in the words of the question alone, which are read in English.
"""

import re
from enum import StrEnum

from pipeline.text import dates
from pipeline.types import Draft


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
_BY_OPERATION = {
    "count": Reasoning.AGGREGATION,
    "sum": Reasoning.AGGREGATION,
    "list": Reasoning.AGGREGATION,
    "filter": Reasoning.AGGREGATION,
    "difference": Reasoning.CALCULATION,
    "ratio": Reasoning.CALCULATION,
    "product": Reasoning.CALCULATION,
    "intersect": Reasoning.CONJUNCTION,
}


def reasoning(draft: Draft) -> Reasoning:
    graph = draft.graph
    if _NEGATION.search(draft.question):
        return Reasoning.NEGATION
    if graph.is_computed:
        return _BY_OPERATION.get(graph.operation, Reasoning.COMPARISON)
    if _CALCULATION.search(draft.question):
        return Reasoning.CALCULATION
    if _TEMPORAL.search(draft.question) or any(_is_date(hop.answer) for hop in draft.hops[:-1]):
        return Reasoning.TEMPORAL
    return Reasoning.BRIDGE if len(draft.hops) > 1 else Reasoning.LOOKUP


def _is_date(answer: str) -> bool:
    found = dates(answer)
    return bool(found) and found[0].span == (0, len(answer))
