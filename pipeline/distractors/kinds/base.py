"""The contract of a kind of distractor, and how a model writes one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from pipeline import registry
from pipeline.agents.structured import request_object
from pipeline.context import RunContext
from pipeline.types import Data, Distractor, Passage, Usage

WRITE = "write"
_SHOWN = {"title", "date", "source", "text"}


class WrittenPassage(Data):
    """A passage as the writer returns it; `claim` and `mark` are verbatim parts of it."""

    title: str
    text: str
    claim: str
    mark: str


class WriteOutput(Data):
    passages: tuple[WrittenPassage, ...] = Field(max_length=4)


class WritingTask(Data):
    """The input of a writer: one hop of a draft and passages of the corpus around it."""

    hop: int
    query: str
    """The query of the hop, which has to retrieve the distractor."""
    source: Passage
    """The hop's passage."""
    quote: str
    sub_question: str
    """The sub-question that the claim answers wrongly: that of the hop, or of the next hop for a shortcut."""
    answer: str
    rivals: tuple[Passage, ...] = ()
    """Passages about other things of the answer's kind: their titles are plausible wrong answers."""
    style: tuple[Passage, ...] = ()
    """Hits of the query from other documents, whose style the distractor should match."""
    answers: tuple[str, ...] = ()
    """All spellings of the right answer."""
    excluded: tuple[str, ...] = ()
    """Documents that a distractor from the corpus must not come from: the draft cites or a distractor uses them."""


@dataclass(frozen=True)
class DistractorKind:
    """A kind of distractor. A file of this package defines one as `KIND`, and the file's name is the kind's.

    By default the writer writes it with the prompt `distractor/<name>`; other kinds override `write`.
    """

    passages: int = 1
    """The number of passages in an attempt; all of them must pass the checks."""
    skipped_hops: int = 0
    """The number of hops that the claim skips: 0 for a wrong answer to the hop that finds the passage."""
    role: Literal["writer", "reader"] = "writer"
    """The role whose model `write` calls."""

    async def write(
        self, name: str, task: WritingTask, context: RunContext, sample: int, refused: Sequence[Distractor] = ()
    ) -> tuple[list[Distractor], Usage]:
        """Write the passages of one attempt, and return them with their token usage.

        Args:
            name: the name of the kind.
            task: the hop and passages of the corpus around it.
            context: the run.
            sample: the number of the attempt.
            refused: the distractors of earlier attempts.

        Raises:
            FormatError: if the output cannot be read.
        """
        messages = context.prompt(
            f"distractor/{name}",
            kind=name,
            query=task.query,
            passage=task.source.model_dump(include=_SHOWN),
            quote=task.quote,
            asked=task.sub_question,
            answer=task.answer,
            rivals=[rival.title for rival in task.rivals],
            style=[passage.model_dump(include=_SHOWN) for passage in task.style],
            outright=context.config.distractors.outright,
            refused=list(map(describe_refused, refused)),
        )
        writer = context.config.models.of("writer")
        output, usage = await request_object(context.llm, writer, messages, WRITE, WriteOutput, sample=sample)
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
    return registry.instance("distractors", kind, DistractorKind)


def describe_refused(distractor: Distractor) -> dict[str, str]:
    fields = distractor.model_dump(include={"title", "text", "claim"})
    return {**fields, "why": f"{distractor.reason}: {distractor.checks[-1].detail}"}
