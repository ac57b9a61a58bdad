"""Was a rollout right? Exact match first; only then a model is asked, and it sees question and answers alone.

A false "yes" makes a hard question look solved, and nobody looks again; a false "no" costs a rollout. So a "yes" that a
model gives needs a second one, not by the generator's model where there is another.
"""

from typing import Literal

from pipeline.agents.structured import schema, structured
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.llm.base import LLM
from pipeline.prompts import load
from pipeline.text import normalise
from pipeline.types import NOT_FOUND, AnswerType, Data, Draft, Message, Usage


class VerdictOutput(Data):
    """`reason` stands first, so that a model compares before it decides."""

    reason: str = ""
    correct: bool


VERDICT = schema("verdict", VerdictOutput)


class NearMiss(Data):
    """What a judge is given."""

    question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    answer_type: AnswerType
    answer_precision: str = ""
    response: str


class Grade(Data):
    right: bool
    method: Literal["exact", "judge", "split", "none"]
    """`split`: the judges were not of one mind, which is no "yes"."""
    usage: Usage = Usage()
    second: Usage = Usage()
    """Of `usage`, the second judge."""


async def grade(draft: Draft, response: str, context: RunContext, *, ask: bool = True) -> Grade:
    """The grade of one answer; without `ask` by exact match alone.

    Raises FormatError when a judge gives no readable verdict: that is no "wrong".
    """
    if response in ("", NOT_FOUND):
        return Grade(right=False, method="none")
    case = NearMiss(
        question=draft.question,
        answer=draft.answer,
        answer_aliases=draft.answer_aliases,
        answer_type=draft.answer_type,
        answer_precision=draft.answer_precision,
        response=response,
    )
    if exact(case):
        return Grade(right=True, method="exact")
    if not ask:
        return Grade(right=False, method="none")
    return await ask_judges(case, context.config.models.judges(), context.llm, context.boundary)


def exact(case: NearMiss) -> bool:
    return normalise(case.response) in {normalise(answer) for answer in (case.answer, *case.answer_aliases)}


def judge_prompt(case: NearMiss, boundary: str) -> tuple[Message, ...]:
    """The judge's prompt."""
    return load("judge/verdict").render(
        boundary,
        question=case.question,
        answer=case.answer,
        answer_aliases=case.answer_aliases,
        answer_type=case.answer_type.value,
        answer_precision=case.answer_precision,
        response=case.response,
    )


async def ask_judges(case: NearMiss, judges: tuple[ModelConfig, ...], llm: LLM, boundary: str) -> Grade:
    """Each of the judges in turn, until one says no."""
    messages = judge_prompt(case, boundary)
    usage = second = Usage()
    for place, judge in enumerate(judges):
        # The second, where it is the first again, is asked with its own temperature: cold, it would repeat itself.
        cold = judge.sampling.model_copy(update={"temperature": 0.0})
        model = judge if place else judge.model_copy(update={"sampling": cold})
        output, took = await structured(llm, model, messages, VERDICT.name, VerdictOutput, sample=place)
        usage += took
        second = took if place else second
        if not output.correct:
            return Grade(right=False, method="split" if place else "judge", usage=usage, second=second)
    return Grade(right=True, method="judge", usage=usage, second=second)
