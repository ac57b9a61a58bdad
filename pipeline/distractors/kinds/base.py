"""The contract of a kind of distractor, and the one way from a model's text to distractors."""

from collections.abc import Sequence
from typing import Protocol, cast

from pydantic import Field

from pipeline import registry
from pipeline.agents.structured import structured
from pipeline.context import RunContext
from pipeline.types import Data, Distractor, Draft, Passage, Usage

WRITE = "write"


class WrittenPassage(Data):
    """One passage as the writer states it; `claim` and `mark` are verbatim parts of it."""

    title: str
    text: str
    claim: str
    mark: str


class WriteOutput(Data):
    passages: tuple[WrittenPassage, ...] = Field(max_length=4)


class Aim(Data):
    """What a writer is given: one hop of a draft and what the corpus holds around it."""

    hop: int
    query: str
    """The hop's own query, which is to bring the distractor up."""
    source: Passage
    """The hop's passage."""
    quote: str
    asked: str
    """The sub-question that the claim answers wrongly: the hop's own, or the next one's for a shortcut."""
    answer: str
    rivals: tuple[Passage, ...] = ()
    """Passages on other things of the answer's sort: their titles are wrong answers that sound right."""


class Writing(Data):
    """What one try gave; nothing where the model had nothing to say or could not be read."""

    distractors: tuple[Distractor, ...]
    usage: Usage


class Maker(Protocol):
    """A module of this package, named as its kind."""

    PIECES: int
    """Passages of one try; all of them must pass the checks."""

    def ends(self, draft: Draft) -> Sequence[int]:
        """The hops whose answers such a distractor can get wrong, the best first."""
        ...

    def marked(self, mark: str) -> bool:
        """Do these words tell a careful reader what kind of text this is?"""
        ...


def load(kind: str) -> Maker:
    return cast(Maker, registry.load("distractors", kind))


def backwards(draft: Draft, first: int = 0) -> Sequence[int]:
    """The hops from the last one down to `first`: what is wrong at the end is wrong in the answer."""
    return range(len(draft.hops) - 1, first - 1, -1)


async def write(kind: str, aim: Aim, context: RunContext, sample: int) -> Writing:
    """One try of the writer, with the kind's own prompt. Raises FormatError where it gives nothing readable."""
    messages = context.prompt(
        f"distractor/{kind}",
        kind=kind,
        query=aim.query,
        passage=aim.source.model_dump(include={"title", "text"}),
        quote=aim.quote,
        asked=aim.asked,
        answer=aim.answer,
        rivals=[rival.model_dump(include={"title", "text"}) for rival in aim.rivals],
    )
    output, usage = await structured(
        context.llm, context.config.models.of("writer"), messages, WRITE, WriteOutput, sample=sample
    )
    distractors = tuple(
        Distractor(
            kind=kind,
            title=" ".join(passage.title.split()),
            text=passage.text.strip(),
            hop=aim.hop,
            source_id=aim.source.id,
            source_sha256=aim.source.sha256,
            claim=passage.claim.strip(),
            mark=passage.mark.strip(),
        )
        for passage in output.passages
    )
    return Writing(distractors=distractors, usage=usage)
