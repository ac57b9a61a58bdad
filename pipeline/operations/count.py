"""How many of the named things meet a condition."""

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from pipeline.operations.base import Computation, NumberOperation, Operand, OperationError, bounds, select_passing
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType
from pipeline.values.interval import ValueInterval


class CountPassing(NumberOperation):
    is_offered: ClassVar[bool] = False
    needs_whole_set: ClassVar[bool] = True
    summary: ClassVar[str] = "the number of things whose value {test}, among {operands}"
    description: ClassVar[str] = (
        "count: how many of the things that the question names meet a condition. It needs what filter needs. Small "
        "counts are easy to guess: prefer filter. Example: three drafts, a to c = is the type that it asks for taken "
        "(yes, yes, no); count(a, b, c), condition = is, bound = yes -> 2."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        if len(operands) < 3:
            raise OperationError("a count needs at least three things")
        number = len(select_passing(step, operands))
        return Computation(str(number), AnswerType.NUMBER, ValueInterval(Fraction(number), Fraction(number), ""))

    def chance(self, operands: Sequence[Operand]) -> float:
        return 1 / (len(operands) + 1)

    def thresholds(self, step: ComputedStep, other_operands: Sequence[Operand]) -> list[ValueInterval]:
        return bounds(step)


OPERATION = CountPassing()
