"""Was a rollout right? Exact match first; only then a model is asked, and it sees question and answers alone.

A false "yes" makes a hard question look solved, and nobody looks again; a false "no" costs a rollout. So a "yes" that a
model gives needs a second one, not by the generator's model where there is another.
"""

from typing import Literal

from pipeline.agents.site import Site
from pipeline.agents.structured import schema, structured
from pipeline.llm.base import LLM
from pipeline.llm.settings import ModelConfig
from pipeline.prompts import load
from pipeline.text import normalise
from pipeline.types import AnswerType, Data, Draft, Message, Usage


class VerdictOutput(Data):
    """`reason` stands first, so that a model compares before it decides."""

    reason: str = ""
    correct: bool


VERDICT = schema("verdict", VerdictOutput)


class Case(Data):
    """What a judge is told."""

    question: str
    answer: str
    answer_aliases: tuple[str, ...] = ()
    answer_type: AnswerType
    answer_precision: str = ""
    response: str


class Ruling(Data):
    right: bool
    method: Literal["exact", "judge", "split", "none"]
    """`split`: the judges were not of one mind, which is no "yes"."""
    usage: Usage = Usage()
    second: Usage = Usage()
    """Of `usage`, the second judge."""


async def rule(draft: Draft, response: str, site: Site, *, ask: bool = True) -> Ruling:
    """The ruling on one answer; without `ask` by exact match alone.

    Raises FormatError when a judge gives no readable verdict: that is no "wrong".
    """
    if not response:
        return Ruling(right=False, method="none")
    case = Case(
        question=draft.question,
        answer=draft.answer,
        answer_aliases=draft.answer_aliases,
        answer_type=draft.answer_type,
        answer_precision=draft.answer_precision,
        response=response,
    )
    if exact(case):
        return Ruling(right=True, method="exact")
    if not ask:
        return Ruling(right=False, method="none")
    return await judged(case, site.config.models.judges(), site.llm, site.boundary)


def exact(case: Case) -> bool:
    return normalise(case.response) in {normalise(answer) for answer in (case.answer, *case.answer_aliases)}


def asked(case: Case, boundary: str) -> tuple[Message, ...]:
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


async def judged(case: Case, judges: tuple[ModelConfig, ...], llm: LLM, boundary: str) -> Ruling:
    """Each of the judges in turn, until one says no."""
    messages = asked(case, boundary)
    usage = second = Usage()
    for place, judge in enumerate(judges):
        # The second, where it is the first again, is asked with its own temperature: cold, it would repeat itself.
        cold = judge.sampling.model_copy(update={"temperature": 0.0})
        model = judge if place else judge.model_copy(update={"sampling": cold})
        output, took = await structured(llm, model, messages, VERDICT.name, VerdictOutput, sample=place)
        usage += took
        second = took if place else second
        if not output.correct:
            return Ruling(right=False, method="split" if place else "judge", usage=usage, second=second)
    return Ruling(right=True, method="judge", usage=usage, second=second)
