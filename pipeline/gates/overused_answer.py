"""Answers that too many pairs have: by default 1 % of them, and one always may."""

from pipeline.gates.base import Settings, Weight
from pipeline.text import normalise
from pipeline.types import Draft, Record


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    answer = normalise(draft.answer)
    return [Weight(marks=(answer,), most=1, share=settings.answers, full=f"enough pairs have the answer '{answer}'")]
