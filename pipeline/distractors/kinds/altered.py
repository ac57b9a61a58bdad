"""`altered`: a passage of the corpus, from deep in the hits of the hop, that is changed in one place."""

from collections.abc import Sequence

from pipeline.agents.structured import structured
from pipeline.agents.tools import shown
from pipeline.context import RunContext
from pipeline.distractors.hard_passages import candidates, distractor
from pipeline.distractors.kinds.base import WritingTask, as_refused
from pipeline.distractors.writing_task import living
from pipeline.errors import FormatError
from pipeline.types import Data, Distractor, Usage

PASSAGES = 1
SKIPPED_HOPS = 0
ALTER = "alter"


class AlterOutput(Data):
    """`reason` stands first, so that a model thinks before it writes."""

    reason: str = ""
    passage_id: str
    span: str
    replacement: str
    claim: str
    mark: str = ""


async def write(
    task: WritingTask, context: RunContext, sample: int, refused: Sequence[Distractor]
) -> tuple[list[Distractor], Usage]:
    """The passage that the writer chooses, with its span replaced; nothing where it holds that none will do.

    None is offered that may be about someone alive, as far as rules can tell. Raises FormatError where the span does
    not stand once in the text: nothing but one place is ever changed.
    """
    offered = await candidates(task, context, refused)
    found = [passage for passage in offered if not await living([passage.id], context.retriever)]
    if not found:
        return [], Usage()
    messages = context.prompt(
        "hard_passage/altered",
        asked=task.asked,
        answer=task.answer,
        outright=context.config.distractors.outright,
        passages=list(map(shown, found)),
        refused=list(map(as_refused, refused)),
    )
    writer = context.config.models.of("writer")
    output, usage = await structured(context.llm, writer, messages, ALTER, AlterOutput, sample=sample)
    chosen = next((passage for passage in found if passage.shown_id in output.passage_id), None)
    if chosen is None:
        return [], usage
    if chosen.text.count(output.span) != 1 or output.replacement == output.span:
        raise FormatError("the span to alter does not stand once in the passage")
    text = chosen.text.replace(output.span, output.replacement)
    return [distractor("altered", task, chosen, text, claim=output.claim, mark=output.mark)], usage
