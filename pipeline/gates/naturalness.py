"""Questions that a reader graded below `gates.naturalness`; by default all pass."""

from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    if record.naturalness is None or record.naturalness >= settings.naturalness:
        return ""
    return f"its wording was graded {record.naturalness} of 5"


GATE = Gate(check)
