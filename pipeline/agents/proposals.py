"""What an author hands in by its last tool: a question with its answer and the evidence of every hop."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from pipeline.types import CONSTRAINTS, Data, NegativeAspect, Program

Aliases = Annotated[tuple[str, ...], BeforeValidator(lambda given: () if given is None else given)]
"""Models write null where there are none."""


class ProposedHop(Data):
    """A hop as the generator states it; `passage_id` is the shown one."""

    sub_question: str = Field(description="What this hop asks, about the answer of the hop before.")
    answer: str = Field(description="The answer of this hop, as its quote has it.")
    answer_kind: str = Field(
        "", description="What kind of thing the answer is, in a word or two: film, director, town."
    )
    passage_id: str = Field(description="The id of the passage that states it, as it was shown.")
    quote: str = Field(description="Copied letter by letter from that passage; holds the answer.")
    relation: str = Field("", description="A word or two for the link, such as 'directed by'.")
    answer_aliases: Aliases = Field(
        (), max_length=8, description="Other names of this very thing, where the next passage uses one."
    )


class ProposedItem(Data):
    """One thing of a list, as the generator states it."""

    answer: str = Field(description="The item, as the quote has it.")
    aliases: Aliases = Field((), max_length=16, description="Other forms of exactly this item.")
    passage_id: str = Field("", description="Empty if the last hop's quote holds the item; else the passage that does.")
    quote: str = Field("", description="With a passage_id alone: copied letter by letter, holds the item.")


class ProposeArguments(Data):
    question: str = Field(description="One to three sentences that stand by themselves; empty if nothing can be asked.")
    answer: str = Field(description="One entity, date or number, as short as it can be.")
    answer_aliases: Aliases = Field((), description="Other forms of exactly the same answer.")
    answer_type: str = Field(description="entity, date or number.")
    answer_precision: str = Field("", description="Of a date, how exact it is asked for: day, month or year.")
    hops: tuple[ProposedHop, ...] = Field(description="One for each step, in order, each from a document of its own.")
    family: str = Field("chain", description="How the question was made: chain, meeting or conjunction.")
    answer_items: SkipJsonSchema[tuple[ProposedItem, ...]] = Field((), max_length=32)
    """Lists only."""


class GroundArguments(Data):
    """The evidence of a question that is given with its answer."""

    hops: tuple[ProposedHop, ...] = Field(
        description="One for each step of the question as it stands, in order; none if the corpus does not state it."
    )


Operator = Literal["category", "range", "meta_attribute", "paraphrase", "arithmetic", "link"]


class RewriteArguments(GroundArguments):
    """The question in other words; its answer stays."""

    question: str = Field(description="One to three sentences that stand by themselves; empty to give up.")
    operator: Operator = Field(description="The one operator that was applied, or taken back.")
    hops: tuple[ProposedHop, ...] = Field(
        description="The evidence of the new wording, one hop for each step, in order; the last gives the same answer."
    )


class ComposeArguments(ProposeArguments):
    question: str = Field(description="One or two sentences that stand by themselves; empty if nothing can be asked.")
    negative_aspect: tuple[NegativeAspect, ...] = Field(
        (), description="What in the passages a careless reader would take for the answer."
    )


class AnyProposeArguments(ProposeArguments):
    """As it is offered where the wanted answer is a list, yes or no, or a choice."""

    answer: str = Field(description="As short as it can be; of a list all items, separated by semicolons.")
    answer_type: str = Field(description="One of the `answer_types`.")
    answer_items: tuple[ProposedItem, ...] = Field((), max_length=32, description="Of a list alone: its items.")


class AggregateArguments(AnyProposeArguments):
    """As it is offered where the answer is to be computed."""

    answer: str = Field(description="What the program gives, as short as it can be.")
    program: Program | SkipJsonSchema[None] = Field(None, description="Left out of an empty question alone.")


class ConstraintsArguments(AnyProposeArguments):
    """Clues about one thing, whatever the author calls that."""

    family: Annotated[str, BeforeValidator(lambda said: CONSTRAINTS)] = CONSTRAINTS


class AnyComposeArguments(ComposeArguments, AnyProposeArguments):
    """The same for a composer."""
