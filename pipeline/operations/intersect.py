"""The one thing that several clues share."""

from collections.abc import Sequence
from typing import ClassVar

from pipeline.operations.base import Computation, Operand, Operation, OperationError
from pipeline.reward.equality import equal
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType
from pipeline.values.interval import DATE


class Intersect(Operation):
    answer_types: ClassVar[frozenset[AnswerType]] = frozenset({AnswerType.ENTITY, AnswerType.NUMBER, AnswerType.DATE})
    names_operands: ClassVar[bool] = True
    needs_whole_set: ClassVar[bool] = True
    summary: ClassVar[str] = "the one thing that fits {operands}"
    description: ClassVar[str] = (
        "intersect: the one thing that fits every clue. It needs two or more steps whose answer is that same thing, "
        "each from a document of its own; each clue fits several things, and only this one fits all. Example: a = a "
        "film that X directed (The Wharf), b = a film that was shot in Y (The Wharf); intersect(a, b) -> The Wharf."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        first = operands[0]
        for operand in operands[1:]:
            if not equal(operand.answer, [first.answer]):
                raise OperationError(
                    f"steps '{first.step_id}' and '{operand.step_id}' must have the same answer, but give "
                    f"'{first.answer}' and '{operand.answer}'"
                )
        names = dict.fromkeys(name for operand in operands for name in (operand.answer, *operand.aliases))
        aliases = tuple(name for name in names if name != first.answer)
        if first.interval is None:
            return Computation(first.answer, AnswerType.ENTITY, aliases=aliases)
        answer_type = AnswerType.DATE if first.interval.kind == DATE else AnswerType.NUMBER
        return Computation(first.answer, answer_type, first.interval, aliases)


OPERATION = Intersect()
