"""The arguments of a generator's last tool: the steps of an evidence graph and, for some, the question."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError

from pipeline.agents.parse import parse
from pipeline.errors import FormatError
from pipeline.text import sentences
from pipeline.types import Data, NegativeAspect, Passage
from pipeline.types.graph import MOST_STEPS, Citation, ComputedStep, FoundStep, Graph

Aliases = Annotated[tuple[str, ...], BeforeValidator(lambda aliases: () if aliases is None else aliases)]
"""Models write null for an empty list."""
Operator = Literal["category", "range", "meta_attribute", "paraphrase", "arithmetic", "link"]


class ProposedStep(Data):
    """One step: found in a passage if it cites one, else computed by an operation."""

    id: str = Field(description="A short name that is unique in the graph, such as founder_a.")
    sub_question: str = Field(description="What this step asks. Refer to the answer of another step by its id in {}.")
    answer: str = Field(
        "",
        description="The answer as the passage has it, as short as it can be; the members of a set "
        "separated by semicolons. Empty if computed.",
    )
    answer_aliases: Aliases = Field((), max_length=8, description="Other names of exactly this answer.")
    needs: tuple[str, ...] = Field((), max_length=12, description="Ids of the earlier steps whose answers it uses.")
    passage_id: str = Field("", description="Found steps: the id of the passage that states the answer.")
    sentences: tuple[int, ...] = Field((), max_length=6, description="Found steps: numbers of the sentences to cite.")
    about: str = Field(
        "",
        description="First steps: the name of the thing, if the title of its document is none. A step that starts from "
        "one member of a set: that member, as the set has it.",
    )
    population: str = Field("", description="Of a value: which group it describes, such as births in Japan.")
    time: str = Field("", description="Of a value: when it was so, such as 2019; empty if no sentence says.")
    is_exact: bool = Field(
        False, description="Of a value: true if it is defined (a limit, a price), not measured or rounded."
    )
    operation: str = Field("", description="Computed steps: the name of the operation.")
    which: Literal["", "most", "least", "earliest", "latest"] = Field(
        "", description="Of extreme: the end of the scale."
    )
    condition: Literal["", "is", "is not", "before", "after", "under", "over"] = Field(
        "", description="Of filter, count and yes_no: what a value must meet."
    )
    bound: str = Field("", description="What the condition compares with.")
    unit: str = Field("", description="Computed numbers: the unit of the answer.")
    rounding: Literal["", "up", "down"] = Field("", description="Of a number: round up or down to a whole number.")


class GraphArguments(Data):
    steps: tuple[ProposedStep, ...] = Field(
        max_length=MOST_STEPS,
        description="In an order in which each step follows those that it needs; the last one gives the answer. "
        "Empty to give up.",
    )


class WordedGraphArguments(GraphArguments):
    question: str = Field(description="One to three sentences that stand by themselves; empty to give up.")


class ComposeArguments(WordedGraphArguments):
    question: str = Field(description="One or two sentences that stand by themselves; empty to give up.")
    negative_aspect: tuple[NegativeAspect, ...] = Field(
        (), description="What in the passages a careless reader would take for the answer."
    )


class RewriteArguments(WordedGraphArguments):
    operator: Operator = Field(description="The one operator that was applied, or taken back.")


def to_graph(arguments: str, passages: Mapping[str, Passage]) -> Graph | None:
    """Return the graph in the arguments of a call, or None if the generator gives up.

    Raise FormatError as `build_graph` does.
    """
    return build_graph(parse(GraphArguments, arguments), passages)


def build_graph(proposed: GraphArguments, passages: Mapping[str, Passage]) -> Graph | None:
    """Return the proposed graph, or None if the generator gives up.

    Args:
        proposed: the steps, which cite passages by their shown ids.
        passages: the passages that the generator was shown, by their shown ids.

    Raises:
        FormatError: the steps do not form a graph; the message names all faults of form at once.
    """
    if not proposed.steps:
        return None
    steps, faults = list[FoundStep | ComputedStep](), list[str]()
    for step in proposed.steps:
        try:
            steps.append(build_step(step, passages))
        except FormatError as error:
            faults.append(f"step '{step.id[:24]}': {error}")
        except ValidationError as error:
            first = error.errors()[0]
            faults.append(f"step '{step.id[:24]}': {'.'.join(map(str, first['loc']))}: {first['msg']}")
    if faults:
        raise FormatError(" ".join(faults))
    try:
        return _drop_extra_needs(Graph(steps=tuple(steps)))
    except ValidationError as error:
        raise FormatError(f"{error.errors()[0]['msg'].removeprefix('Value error, ')}.") from error


def _drop_extra_needs(graph: Graph) -> Graph:
    """Return the graph with computed steps that need their operands alone, not the ancestors of these."""

    def operands(step: ComputedStep) -> tuple[str, ...]:
        ancestors = {ancestor.id for need in graph.needed_by(step) for ancestor in graph.ancestors(need)}
        needs = tuple(need for need in step.needs if need not in ancestors)
        return needs if len(needs) > 1 else step.needs

    computed = {step.id: operands(step) for step in graph.steps if isinstance(step, ComputedStep)}
    steps = [step.model_copy(update={"needs": computed.get(step.id, step.needs)}) for step in graph.steps]
    return Graph(steps=tuple(steps))


def build_step(step: ProposedStep, passages: Mapping[str, Passage]) -> FoundStep | ComputedStep:
    """Return a proposed step. Raises FormatError or ValidationError if its fields do not fit together."""
    return _build_computed(step) if step.operation else _build_found(step, passages)


def _build_computed(step: ProposedStep) -> ComputedStep:
    if step.passage_id:
        raise FormatError("a step either cites a passage or has an operation, not both.")
    shared = step.model_dump(include=set(ComputedStep.model_fields))
    return ComputedStep.model_validate(shared)


def _build_found(step: ProposedStep, passages: Mapping[str, Passage]) -> FoundStep:
    if step.passage_id not in passages:
        raise FormatError(f"no passage '{step.passage_id[:40]}' was shown; cite an id from the results.")
    if not step.answer.strip():
        raise FormatError("a found step needs an answer.")
    passage = passages[step.passage_id]
    shared = step.model_dump(include=set(FoundStep.model_fields) - {"citation"})
    return FoundStep.model_validate(shared | {"citation": cite(passage, step.sentences)})


def cite(passage: Passage, numbers: tuple[int, ...]) -> Citation:
    """Return the citation of sentences of a passage, which are numbered from 1 as they were shown.

    Raises FormatError if a number is out of range.
    """
    spans = sentences(passage.text)
    chosen = sorted({*numbers})
    if not chosen or not 1 <= chosen[0] <= chosen[-1] <= len(spans):
        raise FormatError(f"`sentences` of passage {passage.shown_id} must be numbers from 1 to {len(spans)}.")
    first, last = spans[chosen[0] - 1], spans[chosen[-1] - 1]
    return Citation(
        passage_id=passage.id,
        title=passage.title,
        sentences=tuple(number - 1 for number in chosen),
        # One verbatim slice, so that it can be found in the passage again.
        quote=passage.text[first.start : last.end],
        passage_sha256=passage.sha256,
    )
