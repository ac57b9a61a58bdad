"""The contract of an operation, and what operations share: operands, conditions, and numbers at all corners.

An operation is one class in one file of this folder, and the file's name is the operation's. It computes an answer from
the answers of the steps that it needs, says which answer types it can give, when its evidence is complete, how often a
blind guess is right, and how it is described to the generator.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor, log10
from typing import ClassVar, NamedTuple

from pipeline.reward.equality import equal
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType
from pipeline.values.interval import SHARE, ValueInterval, read_interval

MOST_DIGITS = 4
"""Significant digits of a computed number, if the evidence supports so many."""


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
    """Of a number: all values that the evidence allows, so that the reward can accept each of them."""
    aliases: tuple[str, ...] = ()
    """Other names of the answer, if it is one thing that a step names."""
    items: tuple[str, ...] = ()
    """Of a list: its items."""
    item_aliases: tuple[tuple[str, ...], ...] = ()
    """Of a list: other names of each item."""
    rounding: str = ""
    """Of a rounded number: to what it is rounded, such as "the nearest 10", for the question to state."""


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
    description: ClassVar[str]
    """What the generator reads: what it computes, what it needs, and one worked example."""

    @abstractmethod
    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        """Return the answer. Raises OperationError if the evidence does not settle it."""

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


def compute_at_corners(
    step: ComputedStep, operands: Sequence[Operand], kind: str, compute: Callable[[Sequence[Fraction]], Fraction]
) -> Computation:
    """Compute a number at every corner of the operands' intervals, and round it as far as all corners agree.

    Args:
        step: the computed step, whose `unit` and `rounding` say how the answer is written.
        operands: the values, each with a lower and an upper limit.
        kind: the kind of the result.
        compute: a function that is monotone in each of its arguments, so that the corners give its limits.

    Raises:
        OperationError: an interval is open or missing, a unit does not fit, or the corners round to different numbers.
    """
    corners = []
    for operand in operands:
        if operand.interval is None or not operand.interval.is_bounded:
            raise OperationError(
                f"the answer of step '{operand.step_id}', '{operand.answer}', is no amount with two limits"
            )
        corners.append(operand.interval.corners)
    try:
        results = [compute(values) for values in product(*corners)]
    except ZeroDivisionError:
        raise OperationError("one of the values may be zero, so that nothing can be divided by it") from None
    size = unit_size(step.unit, kind)
    low, high = min(results) / size, max(results) / size
    rounding = ""
    if step.rounding:
        to_whole = ceil if step.rounding == "up" else floor
        if to_whole(low) != to_whole(high):
            raise OperationError(f"the evidence allows {to_whole(low)} and {to_whole(high)}; cite more exact values")
        number = low = high = Fraction(to_whole(low))
        rounding = f"{step.rounding} to a whole number"
    else:
        number, unit = round_alike(low, high)
        if number != low or number != high:
            rounding = f"the nearest {write_decimal(unit)}"
    interval = ValueInterval(low * size, high * size, kind)
    return Computation(f"{write_decimal(number)} {step.unit}".strip(), AnswerType.NUMBER, interval, rounding=rounding)


def unit_size(unit: str, kind: str) -> Fraction:
    """Return the size of a unit in the base unit of a kind. Raises OperationError if it is a unit of another kind."""
    if unit == kind:
        return Fraction(1)
    if kind == SHARE and unit in ("percentage points", "percentage point"):
        return Fraction(1, 100)
    one = read_interval(f"1 {unit}", is_exact=True) if unit else None
    if one is None or one.kind != kind:
        wanted = f"must be a unit of {kind}" if kind else "must be empty, since the values are counts or bare numbers"
        raise OperationError(f"`unit` {wanted}, not '{unit}'")
    return one.corners[0]


def round_alike(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """Return the number to which both limits round, and the unit that it is rounded to, with as many digits as agree.

    Raises OperationError if the limits differ even when they are rounded to one significant digit.
    """
    largest = max(abs(low), abs(high))
    if low == high and (low * 100).denominator == 1:
        return low, Fraction(1, 100)
    exponent = floor(log10(largest)) if largest else 0
    for digits in range(MOST_DIGITS, 0, -1):
        unit = Fraction(10) ** (exponent - digits + 1)
        number = floor(low / unit + Fraction(1, 2))
        # The upper limit itself rounds up, and every value below it rounds down.
        if number and number == ceil(high / unit - Fraction(1, 2)):
            return number * unit, unit
    raise OperationError(
        f"the evidence allows all values from {float(low):.4g} to {float(high):.4g}, so that no digit of the answer is "
        "certain; take values that lie farther apart, or are more exact"
    )


def write_decimal(number: Fraction) -> str:
    """Write a number that has finitely many decimals."""
    return format(Decimal(number.numerator) / number.denominator, "f")
