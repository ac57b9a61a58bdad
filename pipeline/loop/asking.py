"""Repeated questions to a reader, whose graded answers become a `Probe`."""

from collections.abc import Awaitable, Callable

from pipeline.agents.judge import build_case, grade, may_be_same
from pipeline.agents.readers import Reading
from pipeline.context import RunContext
from pipeline.types import Draft, Probe, Usage

Answer = Callable[[int], Awaitable[Reading]]
"""Return the reader's answer for a sample number."""


async def ask_reader(
    check: str, draft: Draft, context: RunContext, answer: Answer, tries: int, *, until_grounded: bool = False
) -> Probe:
    """Ask a reader up to `tries` times, and grade each answer like a rollout's.

    Args:
        check: the name of the check.
        draft: the draft.
        context: the run.
        answer: returns the reader's answer for a sample.
        tries: the most answers.
        until_grounded: whether to stop at the first right answer whose facts are all stated. The judge then compares
            every answer with the known one, since the draft depends on it; else only those that look similar.
    """
    answers: list[str] = []
    uncited: tuple[str, ...] = ()
    model, right, usage, judge_usage, second_usage = "", 0, Usage(), Usage(), Usage()
    for sample in range(tries):
        reading = await answer(sample)
        model = reading.model
        asks_judge = until_grounded or may_be_same(build_case(draft, reading.answer))
        graded = await grade(draft, reading.answer, context, ask=asks_judge)
        answers.append(reading.answer)
        right, usage = right + graded.right, usage + reading.usage
        judge_usage, second_usage = judge_usage + graded.usage, second_usage + graded.second
        if graded.right or not right:
            uncited = reading.uncited
        if until_grounded and graded.right and not uncited:
            break
    return Probe(
        check=check,
        model=model,
        answers=tuple(answers),
        right=right,
        uncited=uncited,
        usage=usage,
        judged=judge_usage,
        second=second_usage,
    )
