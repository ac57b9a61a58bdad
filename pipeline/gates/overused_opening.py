"""Questions whose first four words too many pairs begin with."""

from pipeline.gates.base import Settings, Weight
from pipeline.types import Draft, Record


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    begun = opening(draft.question)
    full = f"enough pairs begin with '{begun}'"
    return [Weight(marks=(begun,), most=settings.least, share=settings.openings, full=full)]


def opening(question: str) -> str:
    return " ".join(question.lower().split(maxsplit=4)[:4])
