"""`hard_negative`: an unaltered passage of the corpus, from deep in the hits of the hop, with a rival answer."""

from collections.abc import Sequence

from pipeline.agents.readers import read
from pipeline.agents.tools import show_passage
from pipeline.context import RunContext
from pipeline.distractors.hard_passages import candidates, distractor
from pipeline.distractors.kinds.base import DistractorKind, WritingTask
from pipeline.types import Data, Distractor, Usage

CHOOSE = "choose"


class ChooseOutput(Data):
    """`reason` is first, so that a model compares before it chooses."""

    reason: str = ""
    passage_id: str
    claim: str


class HardNegative(DistractorKind):
    async def write(
        self, name: str, task: WritingTask, context: RunContext, sample: int, refused: Sequence[Distractor] = ()
    ) -> tuple[list[Distractor], Usage]:
        """Return the passage that a reader chooses, with the claim that it copies, or nothing if it chooses none."""
        offered = await candidates(task, context, refused)
        if not offered:
            return [], Usage()
        passages = list(map(show_passage, offered))
        messages = context.prompt(
            "hard_passage/hard_negative", asked=task.sub_question, answer=task.answer, passages=passages
        )
        output, _, usage = await read(messages, CHOOSE, ChooseOutput, context, sample)
        chosen = [passage for passage in offered if passage.shown_id in output.passage_id]
        return [distractor("hard_negative", task, passage, claim=output.claim) for passage in chosen[:1]], usage


KIND = HardNegative(role="reader")
