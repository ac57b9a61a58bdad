"""Readers: models that answer without searching, each in one call.

The oracle reader has the right passages in hand, so that a question it cannot answer is broken and not merely hard to
search for. The other readers have less than a search agent finds, so that a question they can answer is too easy.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from pipeline import prompts
from pipeline.agents.structured import structured
from pipeline.agents.tools import shown
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.types import Data, Message, Passage, Usage

READ, TRACE, CHECK, GRADE, SKIP, COMMIT = "read", "trace", "weigh", "grade", "skip", "commit"
COMPLETE, ABSENT = "complete", "absent"
T = TypeVar("T", bound=Data)

MOST_UNCITED, LONGEST_FACT = 8, 200
"""What is kept of the facts that no passage states: so many, and so many characters of each."""

_Given = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
"""A text, empty where a model says null."""


class ReadOutput(Data):
    """`reason` stands first, so that a model thinks before it answers."""

    reason: str = ""
    answer: str


class CitedFact(Data):
    fact: str
    passage: _Given = Field("", description="The id of the passage that states it; empty if none does.")


class CitedOutput(Data):
    """`facts` stand first, so that a model thinks before it answers."""

    facts: tuple[CitedFact, ...] = Field((), max_length=64)
    answer: str
    reason: SkipJsonSchema[str] = ""
    """Not asked for and not used: the demo model, which lists no facts, gives one."""


class TraceOutput(Data):
    reason: str = ""
    answers: tuple[str, ...] = Field(max_length=64)


class CheckOutput(Data):
    reason: str = ""
    fits: bool


class SkipOutput(Data):
    queries: tuple[str, ...] = Field(max_length=64)
    reason: SkipJsonSchema[str] = ""
    """Not asked for and not used."""


class CommitOutput(Data):
    """`answer` stands last, so that a model compares before it decides."""

    fits: tuple[str, ...] = Field((), max_length=64)
    reason: str = ""
    passage: _Given = ""
    answer: _Given = ""


class ItemOutput(Data):
    item: str
    passage: str = ""


class CompleteOutput(Data):
    items: tuple[ItemOutput, ...] = Field(max_length=256)


class AbsentOutput(Data):
    """`reason` stands first, so that a model compares before it decides."""

    reason: str = ""
    state: Literal["stated", "contradicted", "unstated", "unclear"]
    passages: tuple[str, ...] = Field((), max_length=64, description="Ids of those that state or exclude the premise.")


class GradeOutput(Data):
    """`reason` stands first, so that a model thinks before it grades."""

    reason: str = ""
    grade: int = Field(ge=1, le=5)
    what_changes: str = ""
    changes_with_time: Annotated[bool | None, WithJsonSchema({"type": "boolean"})] = Field(default_factory=lambda: None)
    """None where the reader did not say, as the demo model."""


class Reading(Data):
    """One answer; empty where the reader found none."""

    answer: str
    model: str
    """Who read."""
    uncited: tuple[str, ...] = ()
    """The facts that it named as needed and that no passage shown to it states: recalled, inferred or guessed."""
    usage: Usage = Usage()


class Committed(Reading):
    """What a reader would answer that does not know what a question leads over; with corpus ids."""

    passages: tuple[str, ...] = ()
    """Those that it would answer from; none where it could not tell which is meant."""
    fits: tuple[str, ...] = ()
    """All that could be the end of the question."""


async def oracle(question: str, passages: Sequence[Passage], context: RunContext, sample: int = 0) -> Reading:
    """Answer from exactly these passages, with the passage that states each fact.

    This and the others here ask the model that plays `reader`, and raise FormatError where it says nothing readable.
    """
    messages = context.prompt("oracle/read", question=question, passages=list(map(shown, passages)))
    return await _cited(_with_notes(messages, context), passages, context, sample)


async def trace(parts: Sequence[tuple[str, Passage]], context: RunContext) -> tuple[list[str], str, Usage]:
    """Each question answered from its own passage alone, all in one call; and who read.

    An answer that is missing counts as none. Raises FormatError where the reader says nothing readable.
    """
    asked = [{"question": question, "passage": shown(passage)} for question, passage in parts]
    messages = _with_notes(context.prompt("oracle/trace", parts=asked), context)
    output, model, usage = await _read(messages, TRACE, TraceOutput, context)
    return [answer.strip() for answer in (*output.answers, *[""] * len(parts))][: len(parts)], model, usage


async def search_end(question: str, parts: Sequence[str], context: RunContext) -> tuple[tuple[str, ...], str, Usage]:
    """Queries for the end of a question that do without what leads there; and who wrote them."""
    output, model, usage = await _read(
        context.prompt("end/search", question=question, parts=list(parts)), SKIP, SkipOutput, context
    )
    return output.queries, model, usage


async def commit(question: str, passages: Sequence[Passage], context: RunContext) -> Committed:
    """What would be answered from what searches for the end of a question have found."""
    messages = context.prompt("end/commit", question=question, passages=list(map(shown, passages)))
    output, model, usage = await _read(_with_notes(messages, context), COMMIT, CommitOutput, context)
    return Committed(
        answer=output.answer.strip(),
        model=model,
        passages=_named(output.passage, passages),
        fits=_named(" ".join(output.fits), passages),
        usage=usage,
    )


async def about_the_living(passages: Sequence[Passage], claim: str, context: RunContext) -> tuple[bool, str, Usage]:
    """Is the last passage, or its claim, about someone who may be alive? With the reader's reason.

    Raises FormatError where the reader says nothing readable.
    """
    messages = context.prompt("living/weigh", passages=list(map(shown, passages)), claim=claim)
    output, _, usage = await _read(messages, CHECK, CheckOutput, context)
    return output.fits, " ".join(output.reason.split()), usage


async def rest(question: str, passages: Sequence[Passage], context: RunContext) -> Reading:
    """Answer from passages of which one is held back, where what is left singles the answer out."""
    messages = context.prompt("oracle/rest", question=question, passages=list(map(shown, passages)))
    return await _cited(_with_notes(messages, context), passages, context, 0)


async def closed_book(question: str, context: RunContext, model: ModelConfig, sample: int = 0) -> Reading:
    """Answer from prior knowledge alone."""
    messages = _with_notes(context.prompt("closed_book/recall", question=question), context)
    output, usage = await structured(context.llm, model, messages, READ, ReadOutput, sample=_sample(model, sample))
    return Reading(answer=output.answer.strip(), model=model.model, usage=usage)


async def check_alternative(
    question: str, answer: str, passages: Sequence[Passage], context: RunContext
) -> tuple[bool, Usage]:
    """Do the passages state of this answer all that the question asks for? The known answer is not in the prompt."""
    messages = context.prompt("rival/weigh", question=question, answer=answer, passages=list(map(shown, passages)))
    output, _, usage = await _read(messages, CHECK, CheckOutput, context)
    return output.fits, usage


async def same_name(
    name: str, other_names: Sequence[str], before: Passage, passage: Passage, quote: str, context: RunContext
) -> tuple[bool, str, Usage]:
    """Does the quote of a passage speak of what the passage before calls `name`? And who read."""
    messages = context.prompt(
        "names/same",
        called=name,
        other_names=list(other_names),
        passage_before=shown(before),
        passage=shown(passage),
        quote=quote,
    )
    output, model, usage = await _read(messages, CHECK, CheckOutput, context)
    return output.fits, model, usage


async def all_items(
    question: str, passages: Sequence[Passage], context: RunContext
) -> tuple[tuple[ItemOutput, ...], str, Usage]:
    """Everything that the passages state to be an answer, each with the shown id of a passage; and who read.

    Raises FormatError where the reader says nothing readable.
    """
    messages = context.prompt("list/complete", question=question, passages=list(map(shown, passages)))
    output, model, usage = await _read(messages, COMPLETE, CompleteOutput, context)
    return output.items, model, usage


async def absent(
    question: str, sub_question: str, premise: str, passages: Sequence[Passage], context: RunContext
) -> tuple[AbsentOutput, list[str], Usage]:
    """Does any of the passages state the premise of a question? With the corpus ids of those that it cites."""
    messages = context.prompt(
        "twin/absent",
        question=question,
        sub_question=sub_question,
        premise=premise,
        passages=list(map(shown, passages)),
    )
    output, _, usage = await _read(messages, ABSENT, AbsentOutput, context)
    return output, list(_named(" ".join(output.passages), passages)), usage


async def naturalness(question: str, context: RunContext, sample: int = 0) -> tuple[GradeOutput, str, Usage]:
    """How natural the question sounds, 1 to 5, to one who sees nothing else, and whether its answer changes with time;
    and who read."""
    return await _read(context.prompt("naturalness/grade", question=question), GRADE, GradeOutput, context, sample)


async def contested(question: str, answer: str, other: str, quote: str, context: RunContext) -> tuple[bool, str, Usage]:
    """Could a general source bear out the other answer, and does the question name nothing that rules it out? And who
    read."""
    messages = context.prompt("contested/weigh", question=question, answer=answer, quote=quote, other_answer=other)
    output, model, usage = await _read(messages, CHECK, CheckOutput, context)
    return output.fits, model, usage


def _sample(model: ModelConfig, sample: int) -> int:
    """At temperature 0 every try is one request, which the cache answers from the second on."""
    return sample if model.sampling.temperature else 0


def _with_notes(messages: tuple[Message, ...], context: RunContext) -> tuple[Message, ...]:
    """With what the solver is told of answers that are no short span."""
    return prompts.noted(messages, context.config.answer_notes())


def _named(text: str, passages: Sequence[Passage]) -> tuple[str, ...]:
    """The corpus ids of the passages whose shown ids a text holds, however they are written."""
    return tuple(passage.id for passage in passages if passage.shown_id in text)


async def _cited(
    messages: tuple[Message, ...], passages: Sequence[Passage], context: RunContext, sample: int
) -> Reading:
    output, model, usage = await _read(messages, READ, CitedOutput, context, sample)
    # An id counts however it is written: in brackets, or beside another.
    ids = {passage.shown_id for passage in passages}
    uncited = [" ".join(f.fact.split()) for f in output.facts if not any(shown_id in f.passage for shown_id in ids)]
    kept = tuple(fact[:LONGEST_FACT] for fact in uncited if fact)[:MOST_UNCITED]
    return Reading(answer=output.answer.strip(), model=model, uncited=kept, usage=usage)


async def _read(
    messages: tuple[Message, ...], name: str, output: type[T], context: RunContext, sample: int = 0
) -> tuple[T, str, Usage]:
    """What the model that plays `reader` says, who it is, and what it took."""
    model = context.config.models.of("reader")
    found, usage = await structured(context.llm, model, messages, name, output, sample=_sample(model, sample))
    return found, model.model, usage
