"""Questions with a relation between hops that too many other pairs use."""

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import GateResult
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    relations = tuple(dict.fromkeys(hop.relation.lower() for hop in draft.hops if hop.relation))
    full = "enough pairs rest on one of its relations"
    return [GateResult(marks=relations, most=settings.least, share=settings.relations, full=full)]
