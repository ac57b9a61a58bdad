"""Whether two values agree, or one meets a condition."""

from collections.abc import Sequence
from typing import ClassVar

from pipeline.operations.base import Computation, Operand, Operation, OperationError, bounds, select_passing
from pipeline.reward.equality import equal
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType
from pipeline.values.interval import ValueInterval


class YesNo(Operation):
    answer_types: ClassVar[frozenset[AnswerType]] = frozenset({AnswerType.BOOLEAN})
    is_offered: ClassVar[bool] = False
    summary: ClassVar[str] = "whether {operands} {test}"
    description: ClassVar[str] = (
        "yes_no: whether two answers are the same, or with a `condition` whether all values meet it. It needs two or "
        "more steps. Example: a = country of the first mine (Chile), b = country of the second (Peru); yes_no(a, b) -> "
        "no."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        if step.condition:
            is_true = len(select_passing(step, operands)) == len(operands)
        elif len(operands) == 2:
            is_true = equal(operands[0].answer, [operands[1].answer])
        else:
            raise OperationError("without a `condition`, yes_no compares two steps")
        return Computation("yes" if is_true else "no", AnswerType.BOOLEAN)

    def describe_answer_form(self, step: ComputedStep, asked_for: str, outcome: Computation) -> str:
        return "yes or no"

    def chance(self, operands: Sequence[Operand]) -> float:
        return 0.5

    def thresholds(self, step: ComputedStep, other_operands: Sequence[Operand]) -> list[ValueInterval]:
        return bounds(step)


OPERATION = YesNo()
