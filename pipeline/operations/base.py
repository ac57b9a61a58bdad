"""The contract of an operation, and what operations share: operands, conditions, and numbers with their limits.

An operation is one class in one file of this folder, and the file's name is the operation's. It computes an answer from
the answers of the steps that it needs, says which answer types it can give, when its evidence is complete, how often a
blind guess is right, and how it is described to the generator.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import ClassVar, NamedTuple

from pipeline.reward.equality import equal
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType
from pipeline.values.interval import SHARE, ValueInterval, read_interval

MOST_DIGITS = 3
"""Significant digits of a ratio, and of every number that has no last decimal."""
_WIDEST = Fraction(1, 4)
"""How wide the limits of a computed number may be, as a part of it."""


class Operand(NamedTuple):
    """The answer of a step that an operation uses."""

    step_id: str
    answer: str
    subject: str
    """The thing that the answer is about, such as the country whose area it is."""
    interval: ValueInterval | None
    """None if the answer is no date and no amount."""
    aliases: tuple[str, ...] = ()
    """Other names of the answer."""
    subject_aliases: tuple[str, ...] = ()
    """Other names of the subject."""


class Computation(NamedTuple):
    """What an operation computes."""

    answer: str
    answer_type: AnswerType
    interval: ValueInterval | None = None
    """Of a number: all values that the evidence allows and all that round to the answer. The reward accepts each."""
    aliases: tuple[str, ...] = ()
    """Other names of the answer, if it is one thing that a step names."""
    items: tuple[str, ...] = ()
    """Of a list: its items."""
    item_aliases: tuple[tuple[str, ...], ...] = ()
    """Of a list: other names of each item."""
    others: tuple[tuple[str, ...], ...] = ()
    """Of a choice among named things: the names of each thing that does not belong to the answer."""
    rounding: str = ""
    """Of a number with fewer digits than its values give: such as "the nearest 10", for the question to state."""


class Operation(ABC):
    """One way to compute an answer."""

    answer_types: ClassVar[frozenset[AnswerType]]
    is_offered: ClassVar[bool] = True
    """Whether generators are offered it by default. The others are offered where a run asks for them."""
    names_operands: ClassVar[bool] = False
    """Whether the answer is by its nature something that earlier steps name, such as the winner of a comparison."""
    gives_subjects: ClassVar[bool] = False
    """Whether the answer is what the operands are about, such as the winner of a comparison, and no operand itself."""
    needs_whole_set: ClassVar[bool] = False
    """Whether the answer is wrong if a passage names only some of the things that fit."""
    guess_advice: ClassVar[str] = ""
    """What to do instead if a blind guess is right half of the time; empty if that lies in what the run asks for."""
    summary: ClassVar[str]
    """What it computes, in words, with `{operands}`, or `{first}` and `{second}`, and perhaps settings of the step:
    `{which}`, `{test}` for condition and bound, and `{unit}`."""
    description: ClassVar[str]
    """What the generator reads: what it computes, what it needs, and one worked example."""

    @abstractmethod
    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        """Return the answer. Raises OperationError if the evidence does not settle it."""

    def describe(self, step: ComputedStep, operands: Sequence[str]) -> str:
        """Return in words what a step computes from operands that are told in words."""
        condition = step.condition if step.condition in ("is", "is not") else f"is {step.condition}"
        return self.summary.format(
            operands=" and ".join(filter(None, (", ".join(operands[:-1]), operands[-1]))),
            first=operands[0],
            second=operands[-1],
            which=step.which,
            test=f"{condition} {step.bound}" if step.condition else "are the same",
            unit=f", in {step.unit}" if step.unit else "",
        )

    def chance(self, operands: Sequence[Operand]) -> float:
        """Return how often a blind guess is right, given the things that the question names."""
        return 0.0

    def describe_answer(self, step: ComputedStep, kinds: str, outcome: Computation) -> str:
        """Return the form that the answer must have, for the writer.

        Args:
            step: the computed step.
            kinds: what kind of thing the subjects are if the operation gives subjects, else the answers.
            outcome: what was computed.
        """
        return f"one name, date or number, as short as it can be: {kinds}"

    def thresholds(self, step: ComputedStep, others: Sequence[Operand]) -> list[ValueInterval]:
        """Return the values beside which an operand would have to lie on the other side to change the answer."""
        return []


class NumberOperation(Operation):
    """An operation whose answer is always a number."""

    answer_types: ClassVar[frozenset[AnswerType]] = frozenset({AnswerType.NUMBER})

    def describe_answer(self, step: ComputedStep, kinds: str, outcome: Computation) -> str:
        unit = f" in {step.unit}" if step.unit else ""
        rounding = f", rounded: {outcome.rounding}" if outcome.rounding else ""
        return f"a number{unit}{rounding}"


class OperationError(ValueError):
    """The evidence does not settle an answer. The message is one sentence that the generator can act on."""


def comparable_intervals(operands: Sequence[Operand]) -> list[ValueInterval]:
    """Return the operands' intervals. Raises OperationError if one has none, or if they are of different kinds."""
    values = []
    for operand in operands:
        if operand.interval is None:
            raise OperationError(f"the answer of step '{operand.step_id}', '{operand.answer}', is no date or amount")
        values.append(operand.interval)
    if len(kinds := {value.kind or "a bare number" for value in values}) > 1:
        raise OperationError(f"the values are of different kinds: {', '.join(sorted(kinds))}")
    return values


def select_passing(step: ComputedStep, operands: Sequence[Operand]) -> list[Operand]:
    """Return the operands that meet the step's condition. Raises OperationError if a value leaves it open."""
    if not step.condition:
        raise OperationError("`condition` must be is, is not, before, after, under or over")
    return [operand for operand in operands if _passes(step, operand)]


def bounds(step: ComputedStep) -> list[ValueInterval]:
    """Return the interval of the step's bound, if it has one."""
    bound = read_interval(step.bound)
    return [bound] if bound else []


def _passes(step: ComputedStep, operand: Operand) -> bool:
    if step.condition in ("is", "is not"):
        return equal(operand.answer, [step.bound]) is (step.condition == "is")
    bound = Operand("bound", step.bound, "", read_interval(step.bound))
    value, limit = comparable_intervals([operand, bound])
    is_below, is_above = value.lies_below(limit), limit.lies_below(value)
    if is_below or is_above:
        return is_below is (step.condition in ("before", "under"))
    raise OperationError(
        f"the answer of step '{operand.step_id}', '{operand.answer}', may lie on either side of '{step.bound}'"
    )


def compute_number(
    step: ComputedStep,
    operands: Sequence[Operand],
    kind: str,
    compute: Callable[[Sequence[Fraction]], Fraction],
    most_digits: int | None = None,
) -> Computation:
    """Compute a number from the values as stated, and its limits from all corners of their intervals.

    The answer is rounded to the largest power of ten that is not above the width of its limits. The corners may round
    to other numbers: the limits say which of them are right too. Only a number that the step rounds up or down must be
    the same at all corners.

    Args:
        step: the computed step, whose `unit` and `rounding` say how the answer is written.
        operands: the values, each with a lower and an upper limit.
        kind: the kind of the result.
        compute: a function that is monotone in each of its arguments, so that the corners give its limits.
        most_digits: how many significant digits the answer may have; None for no limit.

    Raises:
        OperationError: an interval is open or missing, a unit does not fit, the limits are too wide, or the corners
            differ when they are rounded up or down.
    """
    intervals = [_bounded_interval(operand) for operand in operands]
    size = unit_size(step.unit, kind)
    try:
        results = [compute(values) / size for values in product(*(interval.corners for interval in intervals))]
        stated = compute([interval.value for interval in intervals]) / size
    except ZeroDivisionError:
        raise OperationError("one of the values may be zero, so that nothing can be divided by it") from None
    low, high = min(results), max(results)
    if step.rounding:
        number = _round_to_whole(low, high, step.rounding)
        low = high = stated = number
        rounding = f"{step.rounding} to a whole number"
    else:
        number, unit = _round_to_evidence(stated, high - low, most_digits)
        low, high = min(low, number - unit / 2), max(high, number + unit / 2)
        rounding = "" if number == stated else f"the nearest {write_decimal(unit)}"
    if high - low > abs(number) * _WIDEST:
        raise OperationError(
            f"the evidence allows all values from {float(low):.4g} to {float(high):.4g}, too many for one answer; take "
            "values that lie farther apart, or are more exact"
        )
    interval = ValueInterval(low * size, high * size, kind, stated * size)
    return Computation(f"{write_decimal(number)} {step.unit}".strip(), AnswerType.NUMBER, interval, rounding=rounding)


def _bounded_interval(operand: Operand) -> ValueInterval:
    if operand.interval is None or not operand.interval.is_bounded:
        raise OperationError(
            f"the answer of step '{operand.step_id}', '{operand.answer}', is no amount with two limits"
        )
    return operand.interval


def unit_size(unit: str, kind: str) -> Fraction:
    """Return the size of a unit in the base unit of a kind. Raises OperationError if it is a unit of another kind."""
    if unit == kind:
        return Fraction(1)
    is_share = kind == SHARE or kind.startswith(f"{SHARE} of ")
    if is_share and unit in ("percentage points", "percentage point"):
        return Fraction(1, 100)
    one = read_interval(f"1 {unit or kind}", is_exact=True)
    if one and one.kind == (unit or kind) and not (unit and kind):  # what is counted, such as "episodes"
        return Fraction(1)
    if one is None or one.kind != kind:
        wanted = f"must be a unit of {kind}" if kind else "must be empty, since the values are counts or bare numbers"
        raise OperationError(f"`unit` {wanted}, not '{unit}'")
    return one.corners[0]


def _round_to_whole(low: Fraction, high: Fraction, direction: str) -> Fraction:
    to_whole = ceil if direction == "up" else floor
    if to_whole(low) != to_whole(high):
        raise OperationError(f"the evidence allows {to_whole(low)} and {to_whole(high)}; cite more exact values")
    return Fraction(to_whole(low))


def _round_to_evidence(number: Fraction, width: Fraction, most_digits: int | None) -> tuple[Fraction, Fraction]:
    """Return a number as exactly as the width of its limits allows, and the unit to which it is rounded, or 0."""
    unit = _power_of_ten(width) if width else Fraction()
    if not unit and not _has_last_decimal(number):
        most_digits = most_digits or MOST_DIGITS
    if most_digits and number:
        unit = max(unit, _power_of_ten(abs(number)) / 10 ** (most_digits - 1))
    return (floor(number / unit + Fraction(1, 2)) * unit if unit else number), unit


def _power_of_ten(number: Fraction) -> Fraction:
    """Return the largest power of ten that is not above a positive number."""
    return Fraction(10) ** (Decimal(number.numerator) / number.denominator).adjusted()


def _has_last_decimal(number: Fraction) -> bool:
    return bool(10 ** number.denominator.bit_length() % number.denominator == 0)


def write_decimal(number: Fraction) -> str:
    """Write a number that has finitely many decimals."""
    return format(Decimal(number.numerator) / number.denominator, "f")
