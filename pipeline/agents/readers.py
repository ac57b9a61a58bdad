"""Readers, models that answer in one call without searching.

The oracle reader gets the right passages: a question that it cannot answer is broken, not merely hard to search for.
The other readers get less than a search agent finds: a question that they can answer is too easy.

Functions here call the model of the role `reader`, and raise FormatError if it gives no readable output.
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
"""The most facts without a passage that a reading keeps, and the most characters of each."""

NullableText = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A text, empty if a model gives null."""


class ReadOutput(Data):
    """An answer. `reason` comes first, so that a model thinks before it answers."""

    reason: str = ""
    answer: str


class CitedFact(Data):
    fact: str
    passage: NullableText = Field("", description="The id of the passage that states it; empty if none does.")


class CitedOutput(Data):
    """An answer with its facts, which come first, so that a model thinks before it answers."""

    facts: tuple[CitedFact, ...] = Field((), max_length=64)
    answer: str
    reason: SkipJsonSchema[str] = ""
    """Neither requested nor used. The demo model, which lists no facts, gives one."""


class CheckOutput(Data):
    reason: str = ""
    fits: bool


class AbsentOutput(Data):
    """How passages relate to a premise. `reason` comes first, so that a model compares before it decides."""

    reason: str = ""
    state: Literal["stated", "contradicted", "unstated", "unclear"]
    passages: tuple[str, ...] = Field((), max_length=64, description="Ids of those that state or exclude the premise.")


class Reading(Data):
    """The answer of a reader, empty if it found none."""

    answer: str
    model: str
    uncited: tuple[str, ...] = ()
    """The facts that the reader needed and for which it cited no passage: recalled, inferred or guessed."""
    usage: Usage = Usage()


async def oracle(question: str, passages: Sequence[Passage], context: RunContext, sample: int = 0) -> Reading:
    """Answer from these passages alone, with the passage that states each fact."""
    messages = context.prompt("oracle/read", question=question, passages=list(map(show_passage, passages)))
    output, model, usage = await read(add_answer_notes(messages, context), READ, CitedOutput, context, sample)
    # A model may write an id in brackets, or beside another one.
    ids = {passage.shown_id for passage in passages}
    uncited = [" ".join(f.fact.split()) for f in output.facts if not any(shown_id in f.passage for shown_id in ids)]
    short_facts = tuple(fact[:LONGEST_FACT] for fact in uncited if fact)[:MOST_UNCITED]
    return Reading(answer=output.answer.strip(), model=model, uncited=short_facts, usage=usage)


async def is_about_the_living(
    question: str, passages: Sequence[Passage], claim: str, context: RunContext
) -> tuple[bool, str, Usage]:
    """Ask whether the last passage, or its claim as an answer to the question, is about someone who may be alive.

    Returns:
        The reader's decision, its reason, and the usage.
    """
    blocks = list(map(show_passage, passages))
    messages = context.prompt("living/weigh", question=question, passages=blocks, claim=claim)
    output, _, usage = await read(messages, CHECK, CheckOutput, context)
    return output.fits, " ".join(output.reason.split()), usage


async def closed_book(question: str, context: RunContext, model: ModelConfig, sample: int = 0) -> Reading:
    messages = add_answer_notes(context.prompt("closed_book/recall", question=question), context)
    output, usage = await _ask_once(messages, READ, ReadOutput, context, model, sample)
    return Reading(answer=output.answer.strip(), model=model.model, usage=usage)


async def check_alternative(
    question: str, answer: str, passages: Sequence[Passage], context: RunContext
) -> tuple[bool, Usage]:
    """Ask whether the passages support an alternative answer in full. The prompt does not hold the known answer."""
    blocks = list(map(show_passage, passages))
    messages = context.prompt("rival/weigh", question=question, answer=answer, passages=blocks)
    output, _, usage = await weigh(messages, context)
    return output.fits, usage


async def check_absence(
    question: str, sub_question: str, premise: str, passages: Sequence[Passage], context: RunContext
) -> tuple[AbsentOutput, list[str], Usage]:
    """Ask whether the passages state the premise of a question.

    Returns:
        The reader's output, the corpus ids of the passages that it cites, and the usage.
    """
    blocks = list(map(show_passage, passages))
    messages = context.prompt(
        "twin/absent", question=question, sub_question=sub_question, premise=premise, passages=blocks
    )
    output, _, usage = await read(messages, ABSENT, AbsentOutput, context)
    return output, list(find_cited_ids(" ".join(output.passages), passages)), usage


def _sample(model: ModelConfig, sample: int) -> int:
    """Return 0 for all samples at temperature 0: they are one request, which the cache answers after the first."""
    return sample if model.sampling.temperature else 0


def find_cited_ids(text: str, passages: Sequence[Passage]) -> tuple[str, ...]:
    return tuple(passage.id for passage in passages if passage.shown_id in text)


def add_answer_notes(messages: tuple[Message, ...], context: RunContext) -> tuple[Message, ...]:
    """Add what the solver's prompt says about answers that are not a short span."""
    return prompts.add_notes(messages, context.config.answer_notes())


async def read(
    messages: tuple[Message, ...], name: str, output: type[T], context: RunContext, sample: int = 0
) -> tuple[T, str, Usage]:
    """Return the output of the reader, the name of its model, and the usage. The schema's `name` tells its role."""
    model = context.config.models.of("reader")
    value, usage = await request_object(context.llm, model, messages, name, output, sample=_sample(model, sample))
    return value, model.model, usage


async def _ask_once(
    messages: tuple[Message, ...], name: str, output: type[T], context: RunContext, model: ModelConfig, sample: int
) -> tuple[T, Usage]:
    """Return the output of a model and the usage, which is zero if this seed made the same request before."""
    readings, sample = context.memory.readings, _sample(model, sample)
    key = model.model_dump_json(), name, sample, *(message.content for message in messages)
    usage = Usage()
    if key not in readings:
        readings[key], usage = await request_object(context.llm, model, messages, name, output, sample=sample)
    return cast(T, readings[key]), usage


async def weigh(messages: tuple[Message, ...], context: RunContext) -> tuple[CheckOutput, str, Usage]:
    """Ask the reader to confirm what the prompt states. Return its decision with a reason, its model, and the usage."""
    return await read(messages, CHECK, CheckOutput, context)
