"""Questions that use a passage which enough other questions use."""

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import GateResult
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    passages = tuple(dict.fromkeys(hop.passage_id for hop in draft.hops))
    return [
        GateResult(marks=passages, most=settings.pairs_per_passage, full="enough pairs rest on one of its passages")
    ]
