"""Questions whose answer changes with time and that name no date.

By the reader who graded the wording. Where none was asked, by words: one for the present, in English, and no date.
"""

import re

from pipeline.config.gates import GateConfig
from pipeline.text import dates
from pipeline.types import Draft, Record
from pipeline.types.model_probe import undated

_PRESENT = re.compile(
    r"\b(?:current(?:ly)?|incumbent|nowadays|today|at present|right now|latest|most recent(?:ly)?|is the population|"
    r"how many (?:people|inhabitants) (?:live|are|does))\b",
    re.IGNORECASE,
)


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    read = undated(record.last.probes) if record.last else None
    if read is None:
        read = bool(_PRESENT.search(draft.question)) and not dates(draft.question)
    return "its answer changes with time, and it names no date" if read else ""
