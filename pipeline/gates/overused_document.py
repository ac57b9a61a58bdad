"""Questions that use a document, other than that of their seed, which too many other questions use.

The plan draws the documents of seeds evenly, so that only other documents can be overused.
"""

from pipeline.config.exports import GateConfig
from pipeline.gates.base import ALWAYS, Gate, GateResult, limit
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    seed_document = record.seed.passage.document_id
    documents = [document for hop in draft.hops if (document := hop.passage_id.rpartition("#")[0]) != seed_document]
    full = "enough pairs rest on one of its documents"
    return limit(documents, full, ALWAYS, settings.documents)


GATE = Gate(check)
