"""What a reader answers in a number of tries, as a `Probe`."""

from collections.abc import Awaitable, Callable, Sequence

from pipeline.agents.grading import shows_evidence
from pipeline.agents.judge import build_case, grade, may_be_same
from pipeline.agents.readers import Reading
from pipeline.agents.tools import render
from pipeline.context import RunContext
from pipeline.types import Draft, Passage, Probe, Usage

Answer = Callable[[int], Awaitable[Reading]]
"""A reader's answer in the try of that number."""


async def ask_reader(
    check: str, draft: Draft, context: RunContext, answer: Answer, tries: int, *, until_grounded: bool = False
) -> Probe:
    """Up to so many tries, each graded as a rollout's answer would be. A judge is asked about every answer of a reader
    who reads `until_grounded`, since a draft falls with it, and of another about those that are like the known one."""
    answers: list[str] = []
    uncited: tuple[str, ...] = ()
    model, right, usage, judged, second = "", 0, Usage(), Usage(), Usage()
    for sample in range(tries):
        reading = await answer(sample)
        model = reading.model
        ask = until_grounded or may_be_same(build_case(draft, reading.answer))
        graded = await grade(draft, reading.answer, context, ask=ask)
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
    return bool(passages) and all(shows_evidence(draft, number, ids, text) for number in draft.graph.decisive_hops)
