"""Questions that mask a span of a text, where too many do."""

from pipeline.gates.base import PASS, Settings, Weight
from pipeline.types import Draft, Record


def weigh(draft: Draft, record: Record, settings: Settings) -> Weight:
    if draft.family != "cloze":
        return PASS
    return Weight(marks=("cloze",), most=settings.least, share=settings.clozes, full="enough pairs are clozes")
