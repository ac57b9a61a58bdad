"""Questions that use a passage which enough other questions use."""

from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate, GateResult, limit
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    passages = [hop.passage_id for hop in draft.hops]
    return limit(passages, "enough pairs rest on one of its passages", settings.pairs_per_passage)


GATE = Gate(check)
