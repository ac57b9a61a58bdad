"""Was a rollout right? Exact match first; only then a model is asked, and it sees question and answers alone."""

from typing import Literal

from pipeline.agents.site import Site
from pipeline.agents.structured import schema, structured
from pipeline.text import normalise
from pipeline.types import Data, Draft, Usage


class VerdictOutput(Data):
    correct: bool
    reason: str = ""


VERDICT = schema("verdict", VerdictOutput)


class Ruling(Data):
    right: bool
    method: Literal["exact", "judge", "none"]
    usage: Usage = Usage()


async def rule(draft: Draft, response: str, site: Site, *, ask: bool = True) -> Ruling:
    """The ruling on one answer; without `ask` by exact match alone.

    Raises FormatError when the judge gives no readable verdict: that is no "wrong".
    """
    if not response:
        return Ruling(right=False, method="none")
    known = (draft.answer, *draft.answer_aliases)
    if normalise(response) in {normalise(answer) for answer in known}:
        return Ruling(right=True, method="exact")
    if not ask:
        return Ruling(right=False, method="none")
    messages = site.prompt(
        "judge/verdict",
        question=draft.question,
        answer=draft.answer,
        answer_aliases=draft.answer_aliases,
        answer_type=draft.answer_type.value,
        answer_precision=draft.answer_precision,
        response=response,
    )
    model = site.config.models.of("judge")
    cold = model.model_copy(update={"sampling": model.sampling.model_copy(update={"temperature": 0.0})})
    output, usage = await structured(site.llm, cold, messages, VERDICT.name, VerdictOutput)
    return Ruling(right=output.correct, method="judge", usage=usage)
