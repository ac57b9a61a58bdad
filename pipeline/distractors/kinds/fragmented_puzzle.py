"""`fragmented_puzzle`: several passages that each hold a part of the answer, locally plausible, and say so."""

import re
from collections.abc import Sequence

from pipeline.distractors.kinds import base
from pipeline.types import Draft

PIECES = 2
_MARK = re.compile(
    r"\b(?:part|portion|half|third|only|alone|section|stage|phase|excerpt|incomplete|partial\w*|remainder|the rest)\b",
    re.IGNORECASE,
)


def ends(draft: Draft) -> Sequence[int]:
    return base.backwards(draft)


def marked(mark: str) -> bool:
    return bool(_MARK.search(mark))
