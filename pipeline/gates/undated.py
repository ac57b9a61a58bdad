"""Questions whose answer changes with time and that name no date.

The reader that grades the wording has refused such questions already. If no reader graded this one, words decide: an
English word for the present, and no date.
"""

import re

from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate
from pipeline.text import dates
from pipeline.types import Draft, Record

_PRESENT = re.compile(
    r"\b(?:current(?:ly)?|incumbent|nowadays|today|at present|right now|latest|most recent(?:ly)?|is the population|"
    r"how many (?:people|inhabitants) (?:live|are|does))\b",
    re.IGNORECASE,
)


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    if record.naturalness is not None:
        return ""
    is_undated = _PRESENT.search(draft.question) and not dates(draft.question)
    return "its answer changes with time, and it names no date" if is_undated else ""


GATE = Gate(check)
