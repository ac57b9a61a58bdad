"""Questions that rest on a passage on which enough others rest."""

from pipeline.gates.base import Settings, Weight
from pipeline.types import Draft, Record


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    passages = tuple(dict.fromkeys(hop.passage_id for hop in draft.hops))
    return [Weight(marks=passages, most=settings.pairs_per_passage, full="enough pairs rest on one of its passages")]
