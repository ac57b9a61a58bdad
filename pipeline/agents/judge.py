"""Was a rollout right? Exact match first; only then a model is asked, and it sees question and answers alone."""

from typing import Literal

from pipeline.agents.parse import parse
from pipeline.agents.site import Site
from pipeline.errors import FormatError
from pipeline.llm.base import Request, Schema
from pipeline.text import normalise
from pipeline.types import Data, Draft, Usage

ATTEMPTS = 3


class VerdictOutput(Data):
    correct: bool
    reason: str = ""


VERDICT = Schema(name="verdict", body=VerdictOutput.model_json_schema())


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
    usage, model = Usage(), site.config.models.of("judge")
    for sample in range(ATTEMPTS):
        request = Request(
            model=model.model,
            messages=messages,
            output=VERDICT,
            sampling=model.sampling.model_copy(update={"temperature": 0.0}),
            sample=sample,
        )
        completion = await site.llm.complete(request)
        usage += completion.usage
        try:
            output = parse(VerdictOutput, completion.message.content)
        except FormatError:
            continue
        return Ruling(right=output.correct, method="judge", usage=usage)
    raise FormatError(f"the judge gave no readable verdict in {ATTEMPTS} tries")
