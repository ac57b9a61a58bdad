"""Questions that mask a span of a text, where too many do."""

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import GateResult
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    if draft.family != "cloze":
        return []
    return [GateResult(marks=("cloze",), most=settings.least, share=settings.clozes, full="enough pairs are clozes")]
