"""The oracle reader: can the question be answered by one who has the right passages in hand?

It parts a broken question, which nobody answers from its own evidence, from one that is only hard to search for.
"""

from collections.abc import Sequence

from pipeline.agents.site import Site
from pipeline.agents.structured import structured
from pipeline.types import Data, Passage, Usage

READ = "read"


class ReadOutput(Data):
    """`reason` stands first, so that a model thinks before it answers."""

    reason: str = ""
    answer: str


class Reading(Data):
    """One answer; empty where the reader found none."""

    answer: str
    usage: Usage = Usage()


async def oracle(question: str, passages: Sequence[Passage], site: Site, sample: int = 0) -> Reading:
    """Answer from exactly these passages, in one call of the model that plays `reader`.

    Raises FormatError where that model gives nothing readable.
    """
    given = [{"id": p.shown_id, "title": p.title, "text": p.text} for p in passages]
    messages = site.prompt("oracle/read", question=question, passages=given)
    model = site.config.models.of("reader")
    output, usage = await structured(site.llm, model, messages, READ, ReadOutput, sample=sample)
    return Reading(answer=output.answer.strip(), usage=usage)
