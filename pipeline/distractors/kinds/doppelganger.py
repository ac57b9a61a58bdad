"""`doppelganger`: the hop's topic in another edition: one value is changed, and the edition is named."""

import re
from collections.abc import Sequence

from pipeline.distractors.kinds import base
from pipeline.types import Draft

PIECES = 1
_MARK = re.compile(
    r"\b(?:edition|version|draft|revision|revised|survey|census|issue|reprint|release|report|series|season|volume|fiscal|"
    r"as of|dated|printing)\b|\b(?:1[4-9]|20)\d\d\b",
    re.IGNORECASE,
)


def ends(draft: Draft) -> Sequence[int]:
    return base.backwards(draft)


def marked(mark: str) -> bool:
    return bool(_MARK.search(mark))
