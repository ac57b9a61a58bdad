"""What a kind of distractor is, and how a model writes one."""

from collections.abc import Sequence
from typing import Protocol, cast

from pydantic import Field

from pipeline import registry
from pipeline.agents.structured import structured
from pipeline.context import RunContext
from pipeline.types import Data, Distractor, Passage, Usage

WRITE = "write"
_SHOWN = {"title", "date", "source", "text"}


class DistractorKind(Protocol):
    """A module of this package, named as its kind."""

    PASSAGES: int
    """Passages that one try writes; all of them must pass the checks."""
    SKIPPED_HOPS: int
    """Hops that the claim leaps over: 0 for a wrong answer to the hop that finds the passage."""

    # May have besides: `write`, in place of the writer's prompt (as `write` below, without the kind), and `ROLE`, which
    # is the role that `write` asks, where that is not the writer.


class WrittenPassage(Data):
    """One passage as the writer states it; `claim` and `mark` are verbatim parts of it."""

    title: str
    text: str
    claim: str
    mark: str


class WriteOutput(Data):
    passages: tuple[WrittenPassage, ...] = Field(max_length=4)


class WritingTask(Data):
    """What a writer is given: one hop of a draft and what the corpus holds around it."""

    hop: int
    query: str
    """The hop's own query, which is to find the distractor."""
    source: Passage
    """The hop's passage."""
    quote: str
    asked: str
    """The sub-question that the claim answers wrongly: the hop's own, or the next one's for a shortcut."""
    answer: str
    rivals: tuple[Passage, ...] = ()
    """Passages about other things of the answer's kind: their titles are wrong answers that sound right."""
    style: tuple[Passage, ...] = ()
    """What the query finds in other documents: the company that the distractor has to fit in."""
    answers: tuple[str, ...] = ()
    """All spellings of the right answer."""
    excluded: tuple[str, ...] = ()
    """Documents that a passage of the corpus must not come from: those that the draft cites or a distractor uses."""


def load(kind: str) -> DistractorKind:
    return cast(DistractorKind, registry.load("distractors", kind))


async def write(
    kind: str, task: WritingTask, context: RunContext, sample: int, refused: Sequence[Distractor] = ()
) -> tuple[list[Distractor], Usage]:
    """One try of the kind's own `write`, or of the writer with the kind's own prompt. `refused` holds what the tries
    before it gave.

    Raises FormatError where its output cannot be read.
    """
    if own := getattr(load(kind), "write", None):
        return cast(tuple[list[Distractor], Usage], await own(task, context, sample, refused))
    messages = context.prompt(
        f"distractor/{kind}",
        kind=kind,
        query=task.query,
        passage=task.source.model_dump(include=_SHOWN),
        quote=task.quote,
        asked=task.asked,
        answer=task.answer,
        rivals=[rival.title for rival in task.rivals],
        style=[passage.model_dump(include=_SHOWN) for passage in task.style],
        outright=context.config.distractors.outright,
        refused=list(map(as_refused, refused)),
    )
    writer = context.config.models.of("writer")
    output, usage = await structured(context.llm, writer, messages, WRITE, WriteOutput, sample=sample)
    distractors = [
        Distractor(
            kind=kind,
            title=" ".join(passage.title.split()),
            text=passage.text.strip(),
            hop=task.hop,
            source_id=task.source.id,
            source_sha256=task.source.sha256,
            date=task.source.date,
            source=task.source.source,
            claim=passage.claim.strip(),
            mark=passage.mark.strip(),
        )
        for passage in output.passages
    ]
    return distractors, usage


def as_refused(distractor: Distractor) -> dict[str, str]:
    """A refused one as its author is shown it."""
    said = distractor.model_dump(include={"title", "text", "claim"})
    return {**said, "why": f"{distractor.reason}: {distractor.checks[-1].detail}"}
