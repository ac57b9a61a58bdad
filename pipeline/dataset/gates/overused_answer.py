"""Pairs whose answer too many pairs have already: by default more than 1 % of them."""

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import GateResult
from pipeline.text import normalise
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    answer = normalise(draft.answer)
    return [
        GateResult(marks=(answer,), most=1, share=settings.answers, full=f"enough pairs have the answer '{answer}'")
    ]
