"""Questions whose first four words too many pairs begin with."""

from pipeline.gates.base import Settings, Weight
from pipeline.types import Draft, Record


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    opening = " ".join(draft.question.lower().split()[:4])
    full = f"enough pairs begin with '{opening}'"
    return [Weight(marks=(opening,), most=settings.least, share=settings.openings, full=full)]
