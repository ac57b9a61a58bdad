"""`subjective_fallacy`: an opinion, in tone and in words, with one objective error."""

import re
from collections.abc import Sequence

from pipeline.distractors.kinds import base
from pipeline.types import Draft

PIECES = 1
_MARK = re.compile(
    r"\b(?:I|my|me|we|our|opinion|feel|felt|believe|view|personally|honestly|frankly|favou?rite|love|hate)\b",
    re.IGNORECASE,
)


def ends(draft: Draft) -> Sequence[int]:
    return base.backwards(draft)


def marked(mark: str) -> bool:
    return bool(_MARK.search(mark))
