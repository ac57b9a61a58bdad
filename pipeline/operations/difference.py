"""The difference of two amounts or two dates."""

import datetime as dt
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from pipeline.operations.base import (
    Computation,
    NumberOperation,
    Operand,
    OperationError,
    comparable_intervals,
    compute_number,
)
from pipeline.text import Date
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType
from pipeline.values.interval import DATE, ValueInterval, read_date

_YEAR = re.compile(r"\d{3,4}")
"""A year, also an early one such as 986, which elsewhere reads as a bare number."""


class Difference(NumberOperation):
    summary: ClassVar[str] = "the difference between {operands}{unit}"
    description: ClassVar[str] = (
        "difference: how much more one amount is than another, or the whole years or days between two dates. It needs "
        "two steps with the same unit, population and time; `unit` is the unit of the answer. Example: a = year the "
        "bridge was opened (1894), b = year its designer was born (1826); difference(a, b), unit = years -> 68 years."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        if len(operands) != 2:
            raise OperationError(f"a difference needs two steps, not {len(operands)}")
        if step.unit == "years" and all(_YEAR.fullmatch(operand.answer) for operand in operands):
            return _whole(abs(int(operands[0].answer) - int(operands[1].answer)), step.unit)
        values = comparable_intervals(operands)
        if values[0].kind == DATE:
            return _between_dates(step, operands)
        outcome = compute_number(step, operands, values[0].kind, lambda pair: pair[0] - pair[1])
        if outcome.answer.startswith("-"):
            return compute_number(step, operands[::-1], values[0].kind, lambda pair: pair[0] - pair[1])
        return outcome


def _between_dates(step: ComputedStep, operands: Sequence[Operand]) -> Computation:
    pair = [read_date(operand.answer) for operand in operands]
    first, second = sorted(day for day in pair if day is not None) if None not in pair else (None, None)
    if first is None or second is None:
        raise OperationError("both answers must be whole dates without a qualifier")
    if first.precision != second.precision or first.precision == "month":
        raise OperationError("cite two years or two whole dates: a year and a day have no certain difference")
    if step.unit not in ("years", "days"):
        raise OperationError("`unit` must be years or days for two dates")
    return _whole(_years(first, second) if step.unit == "years" else _days(first, second), step.unit)


def _whole(number: int, unit: str) -> Computation:
    return Computation(f"{number} {unit}", AnswerType.NUMBER, ValueInterval(Fraction(number), Fraction(number), unit))


def _years(first: Date, second: Date) -> int:
    """Count whole years. Between two bare years, this is the difference of their numbers."""
    return second.year - first.year - ((second.month, second.day) < (first.month, first.day))


def _days(first: Date, second: Date) -> int:
    if first.precision != "day":
        raise OperationError("a difference in days needs two whole dates")
    return (dt.date(second.year, second.month, second.day) - dt.date(first.year, first.month, first.day)).days


OPERATION = Difference()
