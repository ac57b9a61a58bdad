"""The contract of an operation, and code that operations share: operands, conditions, and numbers with their limits.

An operation is one class in one file of this folder, which has the operation's name. It computes an answer from the
answers of the steps that it needs. It states the answer types that it can give, when its evidence is complete, how
often a blind guess is right, and its description for the generator.
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
"""The greatest width of the limits of a computed number, as a fraction of the number."""


class Operand(NamedTuple):
    """The answer of a step that an operation uses."""

    step_id: str
    answer: str
    subject: str
    """The thing that the answer is about, for example the country of an area."""
    interval: ValueInterval | None
    """None if the answer is neither a date nor an amount."""
    aliases: tuple[str, ...] = ()
    """Other names of the answer."""
    subject_aliases: tuple[str, ...] = ()
    """Other names of the subject."""


class Computation(NamedTuple):
    """The answer that an operation computes."""

    answer: str
    answer_type: AnswerType
    interval: ValueInterval | None = None
    """For a number: all values that the evidence allows and all that round to the answer. The reward accepts them."""
    aliases: tuple[str, ...] = ()
    """Other names of the answer, if it is one thing that a step names."""
    items: tuple[str, ...] = ()
    """For a list: its items."""
    item_aliases: tuple[tuple[str, ...], ...] = ()
    """For a list: other names of each item."""
    excluded: tuple[tuple[str, ...], ...] = ()
    """For a choice among named things: the names of each thing that is not part of the answer."""
    rounding: str = ""
    """For a number with fewer digits than its values: the rounding that the question must state ("the nearest 10")."""


class Operation(ABC):
    """One way to compute an answer."""

    answer_types: ClassVar[frozenset[AnswerType]]
    is_offered: ClassVar[bool] = True
    """Whether generators get it by default. A run can request the others."""
    names_operands: ClassVar[bool] = False
    """Whether earlier steps always name the answer, as with the winner of a comparison."""
    gives_subjects: ClassVar[bool] = False
    """Whether the answer is a subject of the operands, for example the winner of a comparison, and not an operand."""
    needs_whole_set: ClassVar[bool] = False
    """Whether the answer is wrong if a passage names only some of the things that fit."""
    guess_advice: ClassVar[str] = ""
    """What to do instead if a blind guess is right half of the time; empty if the run requests such questions."""
    summary: ClassVar[str]
    """A phrase for what it computes, with `{operands}`, or `{first}` and `{second}`, and settings of the step:
    `{which}`, `{test}` (condition and bound), and `{unit}`."""
    description: ClassVar[str]
    """The text for the generator: what the operation computes, what it needs, and one worked example."""

    @abstractmethod
    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        """Return the answer. Raises OperationError if the evidence does not settle it."""

    def describe(self, step: ComputedStep, operands: Sequence[str]) -> str:
        """Return a phrase for what a step computes from operands that are described by phrases."""
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

    def describe_answer_form(self, step: ComputedStep, asked_for: str, outcome: Computation) -> str:
        """Return the form that the answer must have, for the writer.

        Args:
            step: The computed step.
            asked_for: What the operands' questions ask for, or their subjects if the operation gives subjects.
            outcome: The computed answer.
        """
        return f"one name, date or number, as short as it can be: {asked_for}"

    def thresholds(self, step: ComputedStep, other_operands: Sequence[Operand]) -> list[ValueInterval]:
        """Return the values that an operand would have to cross to change the answer, given the other operands."""
        return []


class NumberOperation(Operation):
    """An operation whose answer is always a number."""

    answer_types: ClassVar[frozenset[AnswerType]] = frozenset({AnswerType.NUMBER})

    def describe_answer_form(self, step: ComputedStep, asked_for: str, outcome: Computation) -> str:
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
        raise OperationError(f"the values are of different kinds ({', '.join(sorted(kinds))}); take values of one kind")
    return values


def select_passing(step: ComputedStep, operands: Sequence[Operand]) -> list[Operand]:
    """Return the operands that meet the step's condition. Raises OperationError if that is uncertain for a value."""
    if not step.condition:
        raise OperationError("`condition` must be is, is not, before, after, under or over")
    return [operand for operand in operands if _meets_condition(step, operand)]


def bounds(step: ComputedStep) -> list[ValueInterval]:
    """Return the interval of the step's bound, if it has one."""
    bound = read_interval(step.bound)
    return [bound] if bound else []


def _meets_condition(step: ComputedStep, operand: Operand) -> bool:
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
    to other numbers, which are right too if they are within the limits. Only a number that the step rounds up or down
    must be the same at all corners.

    Args:
        step: The computed step, whose `unit` and `rounding` determine the form of the answer.
        operands: The values, each with a lower and an upper limit.
        kind: The kind of the result.
        compute: A function that is monotone in each of its arguments, so that the corners give its limits.
        most_digits: The most significant digits of the answer; None for no limit.

    Raises:
        OperationError: An interval is open or missing, a unit does not fit, the limits are too wide, or the corners
            differ when they are rounded up or down.
    """
    intervals = [_bounded_interval(operand) for operand in operands]
    size = unit_size(step.unit, kind)
    try:
        results = [compute(values) / size for values in product(*(interval.corners for interval in intervals))]
        nominal = compute([interval.value for interval in intervals]) / size
    except ZeroDivisionError:
        raise OperationError("one of the values may be zero, so that nothing can be divided by it") from None
    low, high = min(results), max(results)
    if step.rounding:
        number = _round_to_whole(low, high, step.rounding)
        low = high = nominal = number
        rounding = f"{step.rounding} to a whole number"
    else:
        number, unit = _round_to_evidence(nominal, high - low, most_digits)
        low, high = min(low, number - unit / 2), max(high, number + unit / 2)
        rounding = "" if number == nominal else f"the nearest {write_decimal(unit)}"
    if high - low > abs(number) * _WIDEST:
        raise OperationError(
            f"the evidence allows all results from {float(low):.4g} to {float(high):.4g}, too many for one answer; "
            "compute with values that lie farther apart or are stated more exactly"
        )
    interval = ValueInterval(low * size, high * size, kind, nominal * size)
    return Computation(f"{write_decimal(number)} {step.unit}".strip(), AnswerType.NUMBER, interval, rounding=rounding)


def _bounded_interval(operand: Operand) -> ValueInterval:
    if operand.interval is None or not operand.interval.is_bounded:
        raise OperationError(
            f"the answer of step '{operand.step_id}', '{operand.answer}', is no amount with two limits"
        )
    return operand.interval


def unit_size(unit: str, kind: str) -> Fraction:
    """Return the size of a unit in the base unit of a kind. Raises OperationError if the unit is of another kind."""
    if unit == kind:
        return Fraction(1)
    is_share = kind == SHARE or kind.startswith(f"{SHARE} of ")
    if is_share and unit in ("percentage points", "percentage point"):
        return Fraction(1, 100)
    single_unit = read_interval(f"1 {unit or kind}", is_exact=True)
    if single_unit and single_unit.kind == (unit or kind) and not (unit and kind):  # counted things like "episodes"
        return Fraction(1)
    if single_unit is None or single_unit.kind != kind:
        remedy = f"must be a unit of {kind}" if kind else "must be empty, since the values are counts or bare numbers"
        raise OperationError(f"`unit` {remedy}, not '{unit}'")
    return single_unit.corners[0]


def _round_to_whole(low: Fraction, high: Fraction, direction: str) -> Fraction:
    to_whole = ceil if direction == "up" else floor
    if to_whole(low) != to_whole(high):
        raise OperationError(f"the evidence allows {to_whole(low)} and {to_whole(high)}; cite more exact values")
    return Fraction(to_whole(low))


def _round_to_evidence(number: Fraction, width: Fraction, most_digits: int | None) -> tuple[Fraction, Fraction]:
    """Round a number as its limits require, and return it with the unit to which it is rounded, or 0 if it is not.

    A number halfway between two is rounded more coarsely: some people round 2.125 up, others to the even digit.
    """
    unit = _power_of_ten(width) if width else Fraction()
    if not unit and not _has_last_decimal(number):
        most_digits = most_digits or MOST_DIGITS
    if most_digits and number:
        unit = max(unit, _power_of_ten(abs(number)) / 10 ** (most_digits - 1))
    while unit and (number / unit).denominator == 2:
        unit *= 10
    return (floor(number / unit + Fraction(1, 2)) * unit if unit else number), unit


def _power_of_ten(number: Fraction) -> Fraction:
    """Return the largest power of ten that is not above a positive number."""
    return Fraction(10) ** (Decimal(number.numerator) / number.denominator).adjusted()


def _has_last_decimal(number: Fraction) -> bool:
    return bool(10 ** number.denominator.bit_length() % number.denominator == 0)


def write_decimal(number: Fraction) -> str:
    """Write a number that has finitely many decimals."""
    return format(Decimal(number.numerator) / number.denominator, "f")
