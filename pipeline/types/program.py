"""The small program that computes the answer of an aggregate question from what its hops state."""

from typing import Literal

from pydantic import Field

from pipeline.reward.program import compute
from pipeline.types.data import Data


class ProgramValue(Data):
    """What one hop gives to compute with."""

    hop: int = Field(ge=0, description="The index in `hops` of the hop that states it; its answer is the value.")
    value: str = Field(description="As the quote has it, whole: a date, a number with its unit, or a name.")
    name: str = Field(
        "", description="For most, least, earliest, latest: the thing that has it, where that is asked for."
    )


class Program(Data):
    """One operation over values of several documents, and what says that these are all the values there are."""

    operation: Literal["count", "sum", "difference", "most", "least", "earliest", "latest"] = Field(
        description="difference takes two values; most and least take amounts, earliest and latest dates."
    )
    values: tuple[ProgramValue, ...] = Field(min_length=2, max_length=20, description="In the order of their hops.")
    unit: str = Field("", description="Of a sum or difference: the answer's unit; of two dates years or days.")
    condition: Literal["", "before", "after", "under", "over", "is", "is not"] = Field(
        "",
        description="Only values for which it holds count: before or after a date, under or over an amount.",
    )
    bound: str = Field("", description="What the condition compares with.")
    set_question: str = Field(
        "", description="Asks for all the things, before the condition; empty if the question names each of them."
    )
    link: str = Field("", description="With a set_question: the phrase that every value's passage shares.")

    def run(self) -> str:
        """The answer. Raises ValueError, one sentence for the author, where there is none or it is in doubt."""
        pairs = [(one.value, one.name) for one in self.values]
        return compute(self.operation, pairs, unit=self.unit, condition=self.condition, bound=self.bound)
