"""The one thing that several clues share."""

from collections.abc import Sequence
from typing import ClassVar

from pipeline.operations.base import Computation, Operand, Operation, OperationError
from pipeline.reward.equality import equal
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType


class Intersect(Operation):
    answer_types: ClassVar[frozenset[AnswerType]] = frozenset({AnswerType.ENTITY, AnswerType.NUMBER, AnswerType.DATE})
    names_operands: ClassVar[bool] = True
    description: ClassVar[str] = (
        "intersect: the one thing that fits every clue. It needs two or more steps whose answer is that same thing, "
        "each from a document of its own, and no clue may fit it alone. Example: a = a film that X directed (The "
        "Wharf), b = a film that was shot in Y (The Wharf); intersect(a, b) -> The Wharf."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        first = operands[0]
        for operand in operands[1:]:
            if not equal(operand.answer, [first.answer]):
                raise OperationError(
                    f"steps '{first.step_id}' and '{operand.step_id}' give different things: '{first.answer}' and "
                    f"'{operand.answer}'"
                )
        if first.interval is None:
            return Computation(first.answer, AnswerType.ENTITY)
        is_date = first.interval.kind == "date"
        return Computation(first.answer, AnswerType.DATE if is_date else AnswerType.NUMBER, first.interval)


OPERATION = Intersect()
