"""The blind reader: can a distractor be told from the passages of the corpus that its hop's search brings with it?

The reader has the search and its hits alone, neither the question nor the evidence, and must name the passage that was
written for a test. A distractor that is named every time announces itself, and trains nobody.
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
    made = await asyncio.gather(*(_reading(d, others, query, sample, context) for sample in range(READINGS)))
    return [(named, reason) for named, reason, _ in made], Usage.total(usage for *_, usage in made)


async def _reading(
    d: Distractor, others: list[Passage], query: str, sample: int, context: RunContext
) -> tuple[bool, str, Usage]:
    passages = sorted([d.passage, *others], key=lambda passage: sha256(f"{sample}\n{d.id}\n{passage.id}"))
    messages = context.prompt("blind/detect", query=query, passages=list(map(shown, passages)))
    reader = context.config.models.of("reader")
    output, usage = await structured(context.llm, reader, messages, DETECT, DetectOutput, sample=sample)
    return output.passage_id.strip().strip("[]") == d.passage.shown_id, " ".join(output.reason.split()), usage
