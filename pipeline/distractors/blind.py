"""The blind reader: can a distractor be told from the passages of the corpus that its hop's search brings with it?

The reader has the hits alone and must name the one that was written by somebody else, by how it is written. It is not
told what was searched, nor that one of them misleads: whoever knows that picks the passage that gives a rival answer,
as any good distractor must. One that is named every time announces itself, and trains nobody.
"""

import asyncio

from pipeline.agents.structured import structured
from pipeline.agents.tools import shown
from pipeline.context import RunContext
from pipeline.types import Data, Distractor, Passage, Usage, sha256

DETECT = "detect"
READINGS = 3
OTHERS = 5
"""Passages of the corpus that it stands among."""


class DetectOutput(Data):
    """`reason` stands first, so that a model thinks before it chooses."""

    reason: str = ""
    passage_id: str


async def readings(d: Distractor, query: str, context: RunContext) -> tuple[list[tuple[bool, str]], Usage]:
    """For each reading, whether the reader named the distractor, and its reason. None where nothing else is found.

    The passages stand in another order each time. Raises FormatError where a reading cannot be read.
    """
    others = [hit.passage for hit in await context.retriever.search(query, OTHERS)]
    if not others:
        return [], Usage()
    made = await asyncio.gather(*(_reading(d, others, sample, context) for sample in range(READINGS)))
    return [(named, reason) for named, reason, _ in made], Usage.total(usage for *_, usage in made)


async def _reading(d: Distractor, others: list[Passage], sample: int, context: RunContext) -> tuple[bool, str, Usage]:
    passages = sorted([d.passage, *others], key=lambda passage: sha256(f"{sample}\n{d.id}\n{passage.id}"))
    messages = context.prompt("blind/detect", passages=list(map(shown, passages)))
    reader = context.config.models.of("reader")
    output, usage = await structured(context.llm, reader, messages, DETECT, DetectOutput, sample=sample)
    return output.passage_id.strip().strip("[]") == d.passage.shown_id, " ".join(output.reason.split()), usage
