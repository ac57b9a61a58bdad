"""The parts and limits of a draft's answer, which the operation of its last step determines."""

from fractions import Fraction

import orjson

from pipeline import operations
from pipeline.operations import Computation, operation, settle
from pipeline.operations.base import NumberOperation, unit_size
from pipeline.types import AnswerItem, AnswerType, Draft
from pipeline.types.graph import ComputedStep


def compute_answer(draft: Draft) -> Computation | None:
    return settle(draft.graph)[1]


def may_be_named(draft: Draft) -> bool:
    """Return whether a question may name its answer, as one that asks for the larger of two things does."""
    last = draft.graph.last
    return isinstance(last, ComputedStep) and operation(last.operation).gives_subjects


def list_items(draft: Draft) -> tuple[AnswerItem, ...]:
    """Return the items of an answer that is a list; no items for any other answer."""
    outcome = compute_answer(draft)
    pairs = zip(outcome.items, outcome.item_aliases, strict=True) if outcome else ()
    return tuple(AnswerItem(answer=item, aliases=aliases) for item, aliases in pairs)


def other_candidates(draft: Draft) -> tuple[tuple[str, ...], ...]:
    """Return the spellings of the things that the question names and that do not belong to its answer, a list."""
    outcome = compute_answer(draft)
    return outcome.excluded if outcome else ()


def guess_chance(draft: Draft) -> float:
    """Return how often a blind guess of the answer is right, given the things that the question names."""
    if draft.answer_type is AnswerType.BOOLEAN:
        return 0.5
    return operations.guess_chance(draft.graph)


def answer_interval(draft: Draft) -> tuple[Fraction, Fraction] | None:
    outcome, last = compute_answer(draft), draft.graph.last
    # The answer of an intersection may be a number too, but a passage states it.
    if not isinstance(last, ComputedStep) or not isinstance(operation(last.operation), NumberOperation):
        return None
    if outcome is None or (interval := outcome.interval) is None:
        return None
    size = unit_size(last.unit, interval.kind) if interval.kind else Fraction(1)
    low, high = interval.corners
    return low / size, high / size


def answer_limits(draft: Draft) -> str:
    """Return the limits of a computed number as `reward.py` reads them; empty if only one value is right."""
    interval, outcome, last = answer_interval(draft), compute_answer(draft), draft.graph.last
    if interval is None or outcome is None or not isinstance(last, ComputedStep):
        return ""
    low, high = interval
    if low == high and not outcome.rounding:
        return ""
    return orjson.dumps({"from": str(low), "to": str(high), "unit": last.unit}).decode()
