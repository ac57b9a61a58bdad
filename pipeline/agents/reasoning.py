"""Classify the main kind of reasoning that a question requires, without a model.

The evidence graph tells most of it, in any language. Negation, calculation and order in time may be in the words of the
question alone, which are matched in English.
"""

import re
from enum import StrEnum

from pipeline.text import dates
from pipeline.types import Draft


class Reasoning(StrEnum):
    """A kind of reasoning. If several fit a question, the first one counts: the rarer ones come first."""

    NEGATION = "negation"
    """The question excludes something, or asks for what is not so."""
    AGGREGATION = "aggregation"
    """The question asks for several things, or for their count or sum."""
    CALCULATION = "calculation"
    """The answer is calculated from values in the passages."""
    COMPARISON = "comparison"
    """The question compares the ends of two or more chains."""
    TEMPORAL = "temporal"
    """A date, or an order in time, leads from one hop to the next."""
    CONJUNCTION = "conjunction"
    """Several clues or chains meet in one thing."""
    BRIDGE = "bridge"
    """Each hop asks about the answer of the one before."""
    LOOKUP = "lookup"
    """The question has one hop."""


# Lower case only: a title such as "Never Cry Wolf" is no negation.
_NEGATION = re.compile(r"\b(?:not|never|neither|nor|without|except|excluding|other than|no(?= [a-z])|[a-z]+n['’]t)\b")
_UNITS = r"(?:years?|months?|weeks?|days?|hours?|decades?|centuries|century)"
_MORE = "more|fewer|less|older|younger|longer|taller|larger|apart|combined|together"
_APART = "after|before|between|pass(?:ed)?|elapsed?|earlier|later|separate"
# The distance is bounded, so that a text with many "how many" does not take quadratic time.
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
    return any(date.span == (0, len(answer)) for date in dates(answer)[:1])
