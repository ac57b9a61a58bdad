"""The sum of amounts."""

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
from pipeline.types.graph import ComputedStep
from pipeline.values.interval import DATE


class Sum(NumberOperation):
    is_offered: ClassVar[bool] = False
    summary: ClassVar[str] = "the sum of {operands}{unit}"
    description: ClassVar[str] = (
        "sum: the total of amounts that the question names one by one. It needs two or more steps with the same unit, "
        "population and time. Example: a = seats of the first hall (1,200), b = seats of the second (850); "
        "sum(a, b), unit = seats -> 2,050 seats."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        kind = comparable_intervals(operands)[0].kind
        if kind == DATE:
            raise OperationError("dates have no sum")
        return compute_number(step, operands, kind, lambda values: sum(values, Fraction()))


OPERATION = Sum()
