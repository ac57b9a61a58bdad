"""The thing with the greatest, least, earliest or latest value, or that value itself."""

from collections.abc import Sequence
from typing import ClassVar

from pipeline.operations.base import Computation, Operand, Operation, OperationError, comparable_intervals
from pipeline.types.graph import ComputedStep
from pipeline.types.question import AnswerType
from pipeline.values.interval import DATE, ValueInterval


class Extreme(Operation):
    answer_types: ClassVar[frozenset[AnswerType]] = frozenset({AnswerType.COMPARISON})
    names_operands: ClassVar[bool] = True
    gives_subjects: ClassVar[bool] = True
    guess_advice: ClassVar[str] = (
        "compare three or more things, or ask for the difference or the ratio of the two values"
    )
    summary: ClassVar[str] = "the thing with the {which} among {operands}"
    description: ClassVar[str] = (
        "extreme: which of three or more things has the most or least of an amount, or the earliest or latest date. It "
        "needs one step for each thing that gives the value, with the same unit, population and time; `which` is most, "
        "least, earliest or latest. Values that tie or whose ranges overlap cannot be compared. Of two things it is "
        "no last step, since a guess is right half of the time. Example: a, b, c = towers that X, Y and Z built "
        "(91 m, 84 m, 60 m high); extreme(a, b, c), which = most -> the tower that X built."
    )

    def compute(self, step: ComputedStep, operands: Sequence[Operand]) -> Computation:
        if not step.which:
            raise OperationError("`which` must be most, least, earliest or latest")
        values = comparable_intervals(operands)
        is_dated = values[0].kind == DATE
        if is_dated is not (step.which in ("earliest", "latest")):
            raise OperationError(f"`which` = {step.which} does not fit values such as '{operands[0].answer}'")
        is_least = step.which in ("least", "earliest")
        for operand, value in zip(operands, values, strict=True):
            rivals = [rival for rival in values if rival is not value]
            if all(value.lies_below(rival) if is_least else rival.lies_below(value) for rival in rivals):
                return Computation(operand.subject, AnswerType.COMPARISON, aliases=operand.subject_aliases)
        raise OperationError(
            "the values tie or their ranges overlap, so that no thing is certain to be the "
            f"{step.which}: {'; '.join(operand.answer for operand in operands)}"
        )

    def describe_answer_form(self, step: ComputedStep, asked_for: str, outcome: Computation) -> str:
        return f"the name of one of the things that are compared, and not its value: {asked_for}"

    def chance(self, operands: Sequence[Operand]) -> float:
        return 1 / len(operands)

    def thresholds(self, step: ComputedStep, other_operands: Sequence[Operand]) -> list[ValueInterval]:
        return [operand.interval for operand in other_operands if operand.interval is not None]


OPERATION = Extreme()
