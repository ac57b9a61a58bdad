"""What the answer of a draft is made of, as the operation of its last step says."""

import orjson

from pipeline.operations import Computation, operation, settle
from pipeline.operations.base import NumberOperation, unit_size
from pipeline.types import AnswerItem, Draft
from pipeline.types.graph import ComputedStep


def compute_answer(draft: Draft) -> Computation | None:
    """Return what the last step computes, or None if a passage states the answer."""
    return settle(draft.graph)[1]


def may_be_named(draft: Draft) -> bool:
    """Return whether a question may name its answer, as one that asks for the larger of two things does."""
    last = draft.graph.last
    return isinstance(last, ComputedStep) and operation(last.operation).gives_subjects


def list_items(draft: Draft) -> tuple[AnswerItem, ...]:
    """Return the items of an answer that is a list; no items of any other answer."""
    outcome = compute_answer(draft)
    pairs = zip(outcome.items, outcome.item_aliases, strict=True) if outcome else ()
    return tuple(AnswerItem(answer=item, aliases=aliases) for item, aliases in pairs)


def answer_limits(draft: Draft) -> str:
    """Return the limits of a computed number as `reward.py` reads them; empty if only one value is right."""
    outcome, last = compute_answer(draft), draft.graph.last
    # The answer of an intersection may be a number too, but a passage states it.
    if not isinstance(last, ComputedStep) or not isinstance(operation(last.operation), NumberOperation):
        return ""
    if outcome is None or (interval := outcome.interval) is None:
        return ""
    low, high = interval.corners
    if low == high and not outcome.rounding:
        return ""
    size = unit_size(last.unit, interval.kind)
    low, high = low / size, high / size
    return orjson.dumps({"from": str(low), "to": str(high), "unit": last.unit}).decode()
