"""`altered`: a passage of the corpus, from deep in the hits of the hop, with one span replaced."""

from collections.abc import Sequence

from pipeline.agents.structured import request_object
from pipeline.agents.tools import show_passage
from pipeline.context import RunContext
from pipeline.distractors.hard_passages import candidates, distractor
from pipeline.distractors.kinds.base import DistractorKind, WritingTask, describe_refused
from pipeline.distractors.writing_task import may_concern_living
from pipeline.errors import FormatError
from pipeline.types import Data, Distractor, Usage

ALTER = "alter"


class AlterOutput(Data):
    """`reason` is first, so that a model thinks before it writes."""

    reason: str = ""
    passage_id: str
    span: str
    replacement: str
    claim: str
    mark: str = ""


class Altered(DistractorKind):
    async def write(
        self, name: str, task: WritingTask, context: RunContext, sample: int, refused: Sequence[Distractor] = ()
    ) -> tuple[list[Distractor], Usage]:
        """Return the passage that the writer chooses with one span replaced, or nothing if the writer chooses none.

        Passages that may be about a living person, as far as rules can tell, are not offered.

        Raises:
            FormatError: if the span does not occur exactly once in the passage.
        """
        passages = await candidates(task, context, refused)
        offered = [passage for passage in passages if not await may_concern_living([passage.id], context.retriever)]
        if not offered:
            return [], Usage()
        messages = context.prompt(
            "hard_passage/altered",
            asked=task.sub_question,
            answer=task.answer,
            outright=context.config.distractors.outright,
            passages=list(map(show_passage, offered)),
            refused=list(map(describe_refused, refused)),
        )
        writer = context.config.models.of("writer")
        output, usage = await request_object(context.llm, writer, messages, ALTER, AlterOutput, sample=sample)
        chosen = next((passage for passage in offered if passage.shown_id in output.passage_id), None)
        if chosen is None:
            return [], usage
        if (count := chosen.text.count(output.span)) != 1:
            raise FormatError(f"the passage must hold the span to alter exactly once; it holds it {count} times")
        if output.replacement == output.span:
            raise FormatError("the replacement must differ from the span to alter")
        text = chosen.text.replace(output.span, output.replacement)
        return [distractor("altered", task, chosen, text, claim=output.claim, mark=output.mark)], usage


KIND = Altered()
