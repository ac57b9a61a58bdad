"""What a kind of distractor is, and how a model writes one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from pipeline import registry
from pipeline.agents.structured import structured
from pipeline.context import RunContext
from pipeline.types import Data, Distractor, Passage, Usage

WRITE = "write"
_SHOWN = {"title", "date", "source", "text"}


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


@dataclass(frozen=True)
class DistractorKind:
    """A kind of distractor: a file of this package holds one as `KIND` and is named as the kind.

    A kind that is not written by the writer with the prompt `distractor/<name>` overrides `write`.
    """

    passages: int = 1
    """Passages that one try writes; all of them must pass the checks."""
    skipped_hops: int = 0
    """Hops that the claim leaps over: 0 for a wrong answer to the hop that finds the passage."""
    role: Literal["writer", "reader"] = "writer"
    """The role that `write` asks."""

    async def write(
        self, name: str, task: WritingTask, context: RunContext, sample: int, refused: Sequence[Distractor] = ()
    ) -> tuple[list[Distractor], Usage]:
        """Write the passages of one try, and return them with what they cost.

        Args:
            name: the name of the kind.
            task: the hop and what the corpus holds around it.
            context: the run.
            sample: the number of the try.
            refused: what earlier tries gave.

        Raises FormatError where the output cannot be read.
        """
        messages = context.prompt(
            f"distractor/{name}",
            kind=name,
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
                kind=name,
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


def load(kind: str) -> DistractorKind:
    """Return the kind of that name. Raises UsageError for an unknown one."""
    return registry.instance("distractors", kind, DistractorKind)


def as_refused(distractor: Distractor) -> dict[str, str]:
    """A refused one as its author is shown it."""
    said = distractor.model_dump(include={"title", "text", "claim"})
    return {**said, "why": f"{distractor.reason}: {distractor.checks[-1].detail}"}
