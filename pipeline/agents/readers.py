"""Readers: models that answer without searching, each in one call.

The oracle reader has the right passages in hand, so that a question it cannot answer is broken and not merely hard to
search for. The other readers have less than a search agent finds, so that a question they can answer is too easy.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from pipeline import prompts
from pipeline.agents.structured import request_object
from pipeline.agents.tools import show_passage
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.types import Data, Message, Passage, Usage

READ, CHECK, ABSENT = "read", "weigh", "absent"
T = TypeVar("T", bound=Data)

MOST_UNCITED, LONGEST_FACT = 8, 200
"""What is kept of the facts that no passage states: so many, and so many characters of each."""

Given = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A text, empty where a model says null."""


class ReadOutput(Data):
    """`reason` stands first, so that a model thinks before it answers."""

    reason: str = ""
    answer: str


class CitedFact(Data):
    fact: str
    passage: Given = Field("", description="The id of the passage that states it; empty if none does.")


class CitedOutput(Data):
    """`facts` stand first, so that a model thinks before it answers."""

    facts: tuple[CitedFact, ...] = Field((), max_length=64)
    answer: str
    reason: SkipJsonSchema[str] = ""
    """Not asked for and not used: the demo model, which lists no facts, gives one."""


class CheckOutput(Data):
    reason: str = ""
    fits: bool


class AbsentOutput(Data):
    """`reason` stands first, so that a model compares before it decides."""

    reason: str = ""
    state: Literal["stated", "contradicted", "unstated", "unclear"]
    passages: tuple[str, ...] = Field((), max_length=64, description="Ids of those that state or exclude the premise.")


class Reading(Data):
    """One answer; empty where the reader found none."""

    answer: str
    model: str
    """Who read."""
    uncited: tuple[str, ...] = ()
    """The facts that it named as needed and that no passage shown to it states: recalled, inferred or guessed."""
    usage: Usage = Usage()


async def oracle(question: str, passages: Sequence[Passage], context: RunContext, sample: int = 0) -> Reading:
    """Answer from exactly these passages, with the passage that states each fact.

    This and the others here ask the model that plays `reader`, and raise FormatError where it says nothing readable.
    """
    messages = context.prompt("oracle/read", question=question, passages=list(map(show_passage, passages)))
    return await _cited(messages, passages, context, sample)


async def is_about_the_living(
    question: str, passages: Sequence[Passage], claim: str, context: RunContext
) -> tuple[bool, str, Usage]:
    """Is the last passage, or its claim as an answer to the question, about someone who may be alive? With the reader's
    reason.

    Raises FormatError where the reader says nothing readable.
    """
    blocks = list(map(show_passage, passages))
    messages = context.prompt("living/weigh", question=question, passages=blocks, claim=claim)
    output, _, usage = await read(messages, CHECK, CheckOutput, context)
    return output.fits, " ".join(output.reason.split()), usage


async def closed_book(question: str, context: RunContext, model: ModelConfig, sample: int = 0) -> Reading:
    """Answer from prior knowledge alone."""
    messages = add_answer_notes(context.prompt("closed_book/recall", question=question), context)
    output, usage = await _once(messages, READ, ReadOutput, context, model, sample)
    return Reading(answer=output.answer.strip(), model=model.model, usage=usage)


async def check_alternative(
    question: str, answer: str, passages: Sequence[Passage], context: RunContext
) -> tuple[bool, Usage]:
    """Do the passages state of this answer all that the question asks for? The known answer is not in the prompt."""
    given = list(map(show_passage, passages))
    asked = context.prompt("rival/weigh", question=question, answer=answer, passages=given)
    weighed, _, usage = await weigh(asked, context)
    return weighed.fits, usage


async def check_absence(
    question: str, sub_question: str, premise: str, passages: Sequence[Passage], context: RunContext
) -> tuple[AbsentOutput, list[str], Usage]:
    """Does any of the passages state the premise of a question? With the corpus ids of those that it cites."""
    given = list(map(show_passage, passages))
    messages = context.prompt(
        "twin/absent", question=question, sub_question=sub_question, premise=premise, passages=given
    )
    output, _, usage = await read(messages, ABSENT, AbsentOutput, context)
    return output, list(find_cited_ids(" ".join(output.passages), passages)), usage


def _sample(model: ModelConfig, sample: int) -> int:
    """At temperature 0 every try is one request, which the cache answers from the second on."""
    return sample if model.sampling.temperature else 0


def find_cited_ids(text: str, passages: Sequence[Passage]) -> tuple[str, ...]:
    """The corpus ids of the passages whose shown ids a text holds, however they are written."""
    return tuple(passage.id for passage in passages if passage.shown_id in text)


def add_answer_notes(messages: tuple[Message, ...], context: RunContext) -> tuple[Message, ...]:
    """With what the solver is told of answers that are no short span."""
    return prompts.add_notes(messages, context.config.answer_notes())


async def read(
    messages: tuple[Message, ...], name: str, output: type[T], context: RunContext, sample: int = 0
) -> tuple[T, str, Usage]:
    """What the model that plays `reader` says, who it is, and what it took. The `name` of the schema tells the role.

    Raises FormatError where it says nothing readable.
    """
    model = context.config.models.of("reader")
    found, usage = await request_object(context.llm, model, messages, name, output, sample=_sample(model, sample))
    return found, model.model, usage


async def _once(
    messages: tuple[Message, ...], name: str, output: type[T], context: RunContext, model: ModelConfig, sample: int
) -> tuple[T, Usage]:
    """What a model says, and what it took: nothing where it has said it to the same words for this seed before."""
    said, sample = context.memory.readings, _sample(model, sample)
    asked = model.model_dump_json(), name, sample, *(message.content for message in messages)
    usage = Usage()
    if asked not in said:
        said[asked], usage = await request_object(context.llm, model, messages, name, output, sample=sample)
    return cast(T, said[asked]), usage


async def weigh(messages: tuple[Message, ...], context: RunContext) -> tuple[CheckOutput, str, Usage]:
    """Does a reader say that what it is asked about is so, and why? And who read."""
    return await read(messages, CHECK, CheckOutput, context)


async def _cited(
    messages: tuple[Message, ...], passages: Sequence[Passage], context: RunContext, sample: int = 0
) -> Reading:
    output, model, usage = await read(add_answer_notes(messages, context), READ, CitedOutput, context, sample)
    # An id counts however it is written: in brackets, or beside another.
    ids = {passage.shown_id for passage in passages}
    uncited = [" ".join(f.fact.split()) for f in output.facts if not any(shown_id in f.passage for shown_id in ids)]
    kept = tuple(fact[:LONGEST_FACT] for fact in uncited if fact)[:MOST_UNCITED]
    return Reading(answer=output.answer.strip(), model=model, uncited=kept, usage=usage)
