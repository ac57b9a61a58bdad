"""Questions that begin with the same four words as too many others."""

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import GateResult
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    begun = opening(draft.question)
    full = f"enough pairs begin with '{begun}'"
    return [GateResult(marks=(begun,), most=settings.least, share=settings.openings, full=full)]


def opening(question: str) -> str:
    return " ".join(question.lower().split(maxsplit=4)[:4])
