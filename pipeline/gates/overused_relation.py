"""Questions with a relation that too many pairs rest on; a relation is what the generator calls a link."""

from pipeline.gates.base import Settings, Weight
from pipeline.types import Draft, Record


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    relations = tuple(dict.fromkeys(hop.relation.lower() for hop in draft.hops if hop.relation))
    full = "enough pairs rest on one of its relations"
    return [Weight(marks=relations, most=settings.least, share=settings.relations, full=full)]
