"""Several answers together, each from its own step."""

from collections.abc import Sequence
from typing import ClassVar

from pipeline.operations.base import Computation, Operand, Operation, OperationError
from pipeline.reward.equality import equal
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType


class ListAll(Operation):
    answer_types: ClassVar[frozenset[AnswerType]] = frozenset({AnswerType.LIST})
    names_operands: ClassVar[bool] = True
    needs_whole_set: ClassVar[bool] = True
    summary: ClassVar[str] = "all of {operands}"
    description: ClassVar[str] = (
        "list: one question asked of several things, all answers wanted. It needs two or more steps that ask the same, "
        "with different answers, and the question must name each thing: no search proves a list complete. Example: "
        "a = birthplace of the novel's author (Lisbon), b = birthplace of its translator (Ghent); list(a, b) -> "
        "Lisbon; Ghent."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        if len({operand.interval.kind if operand.interval else "name" for operand in operands}) > 1:
            raise OperationError("the answers are of different kinds: a list asks one question of several things")
        items: list[str] = []
        for operand in operands:
            if any(equal(operand.answer, [item]) for item in items):
                raise OperationError(f"'{operand.answer}' would stand in the list twice")
            items.append(operand.answer)
        aliases = tuple(operand.aliases for operand in operands)
        return Computation("; ".join(items), AnswerType.LIST, items=tuple(items), item_aliases=aliases)

    def describe_answer_form(self, step: ComputedStep, asked_for: str, outcome: Computation) -> str:
        return f"a list of {len(outcome.items)} answers, each asked for in the question: {asked_for}"


OPERATION = ListAll()
