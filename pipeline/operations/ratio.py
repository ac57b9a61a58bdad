"""How many times as much one amount is as another, or what share of it."""

from collections.abc import Sequence
from typing import ClassVar

from pipeline.operations.base import (
    MOST_DIGITS,
    Computation,
    NumberOperation,
    Operand,
    OperationError,
    comparable_intervals,
    compute_number,
)
from pipeline.types.graph import ComputedStep
from pipeline.values.interval import DATE, SHARE


class Ratio(NumberOperation):
    summary: ClassVar[str] = "{first} divided by {second}{unit}"
    description: ClassVar[str] = (
        "ratio: how many times as much the first amount is as the second, or with `unit` = % what share of it. It "
        "needs two steps with the same unit, population and time. The answer has at most 3 digits, "
        "and fewer if the values are less exact. Example: a = share of new cases from the leading cause (44 %), b = "
        "share from the most common inherited cause (2.2 %); ratio(a, b) -> 20."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        if len(operands) != 2:
            raise OperationError(f"a ratio needs two steps, not {len(operands)}")
        if comparable_intervals(operands)[0].kind == DATE:
            raise OperationError("dates have no ratio")
        kind = SHARE if step.unit else ""
        return compute_number(step, operands, kind, lambda pair: pair[0] / pair[1], MOST_DIGITS)


OPERATION = Ratio()
