"""The product of amounts, for example a number of things and the cost of each."""

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import ClassVar

from pipeline.operations.base import Computation, NumberOperation, Operand, OperationError, compute_number
from pipeline.types.graph import ComputedStep
from pipeline.values.interval import DATE


class Product(NumberOperation):
    is_offered: ClassVar[bool] = False
    summary: ClassVar[str] = "the product of {operands}{unit}"
    description: ClassVar[str] = (
        "product: a number of things times what each of them takes. It needs two or more steps; `unit` is the unit of "
        "the answer. Example: a = largest contract (65,536 bytes), b = price of a byte (1,900 gas); product(a, b), "
        "unit = gas -> 124,518,400 gas."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        if any(operand.interval is not None and operand.interval.kind == DATE for operand in operands):
            raise OperationError("dates have no product")
        return compute_number(step, operands, step.unit, lambda values: prod(values, start=Fraction(1)))


OPERATION = Product()
