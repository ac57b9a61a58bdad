"""Questions that mask a span of a text, where too many do."""

from pipeline.gates.base import Settings, Weight
from pipeline.types import Draft, Record


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    if draft.family != "cloze":
        return []
    return [Weight(marks=("cloze",), most=settings.least, share=settings.clozes, full="enough pairs are clozes")]
