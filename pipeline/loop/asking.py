"""What a reader answers in a number of tries, as a `Probe`."""

from collections.abc import Awaitable, Callable, Sequence

from pipeline.agents import cited
from pipeline.agents.grading import shows
from pipeline.agents.judge import grade
from pipeline.agents.readers import Reading
from pipeline.agents.tools import render
from pipeline.context import RunContext
from pipeline.text import words
from pipeline.types import AnswerType, Draft, Passage, Probe, Usage

Answer = Callable[[int], Awaitable[Reading]]
"""A reader's answer in the try of that number."""


async def ask_reader(
    check: str, draft: Draft, context: RunContext, answer: Answer, tries: int, *, until_grounded: bool = False
) -> Probe:
    """Up to so many tries, each graded as a rollout's answer would be."""
    answers: list[str] = []
    uncited: tuple[str, ...] = ()
    model, right, usage, judged, second = "", 0, Usage(), Usage(), Usage()
    for sample in range(tries):
        reading = await answer(sample)
        model = reading.model
        graded = await grade(draft, reading.answer, context, ask=_alike(draft, reading.answer))
        answers.append(reading.answer)
        right, usage = right + graded.right, usage + reading.usage
        judged, second = judged + graded.usage, second + graded.second
        if graded.right or not right:
            uncited = reading.uncited
        if until_grounded and graded.right and not uncited:
            break
    took = {"usage": usage, "judged": judged, "second": second}
    return Probe(check=check, model=model, answers=tuple(answers), right=right, uncited=uncited, **took)


def over(passages: Sequence[Passage], draft: Draft, probe: Probe) -> Probe:
    """The probe with whether these passages, which its reader was shown, hold the evidence."""
    return probe.model_copy(update={"evidence": hold_evidence(passages, draft)})


def hold_evidence(passages: Sequence[Passage], draft: Draft) -> bool:
    """Do these passages hold the evidence of the last hop; of every chain's last, where several decide the answer?"""
    ids, text = [passage.id for passage in passages], render(passages)
    return bool(passages) and all(shows(draft, number, ids, text) for number in cited.ends(draft))


def _alike(draft: Draft, answer: str) -> bool:
    """Is it worth a judge's call? Its reader had the right words before it, or was to have none of them."""
    known = {word for right in (draft.answer, *draft.answer_aliases) for word in words(right)}
    return draft.answer_type is AnswerType.NUMBER or not known.isdisjoint(words(answer))
