"""The things, among several that the question names, whose value meets a condition."""

from collections.abc import Sequence
from typing import ClassVar

from pipeline.operations.base import Computation, Operand, Operation, OperationError, bounds, select_passing
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType
from pipeline.values.interval import ValueInterval


class Filter(Operation):
    answer_types: ClassVar[frozenset[AnswerType]] = frozenset({AnswerType.LIST, AnswerType.ENTITY})
    names_operands: ClassVar[bool] = True
    gives_subjects: ClassVar[bool] = True
    needs_whole_set: ClassVar[bool] = True
    summary: ClassVar[str] = "the things whose value {test}, among {operands}"
    description: ClassVar[str] = (
        "filter: which of three or more things meet a condition. It needs one step for each thing, whose answer is the "
        "value that is tested; `condition` is one of is, is not, before, after, under, over, and `bound` is what it "
        "compares with. Some must pass and some must fail. A 'no' needs a sentence that says so. Example: a to d = "
        "does this disorder raise the risk of skin cancer (yes, no, no, yes); filter(a, b, c, d), condition = is, "
        "bound = no -> the second and the third disorder."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        if len(operands) < 3:
            raise OperationError("a filter needs at least three things to choose from")
        passing = select_passing(step, operands)
        if not passing or len(passing) == len(operands):
            raise OperationError(
                f"{'all' if passing else 'none'} of the things meet the condition, so that it asks nothing"
            )
        items = tuple(operand.subject for operand in passing)
        aliases = tuple(operand.subject_aliases for operand in passing)
        if len(passing) == 1:
            return Computation(items[0], AnswerType.ENTITY, aliases=aliases[0])
        excluded = tuple((operand.subject, *operand.subject_aliases) for operand in operands if operand not in passing)
        return Computation("; ".join(items), AnswerType.LIST, items=items, item_aliases=aliases, excluded=excluded)

    def describe_answer_form(self, step: ComputedStep, asked_for: str, outcome: Computation) -> str:
        return f"the names of all things that pass, one or several, and not their values: {asked_for}"

    def chance(self, operands: Sequence[Operand]) -> float:
        return 1 / float(2 ** len(operands) - 2)

    def thresholds(self, step: ComputedStep, other_operands: Sequence[Operand]) -> list[ValueInterval]:
        return bounds(step)


OPERATION = Filter()
