"""`false_shortcut`: a hedged claim that leads from the start of a hop past its answer to the end of the next one."""

import re
from collections.abc import Sequence

from pipeline.distractors.kinds import base
from pipeline.types import Draft

PIECES = 1
_MARK = re.compile(
    r"\b(?:reportedly|allegedly|rumou?r\w*|unconfirmed|unproven|unverified|unclear|disputed|legend|hearsay|perhaps|possibly|"
    r"may|might|supposed\w*|without proof|said to|some (?:say|hold|claim|accounts)|"
    r"not (?:been )?(?:confirmed|proven|known|certain|established))\b",
    re.IGNORECASE,
)


def ends(draft: Draft) -> Sequence[int]:
    return base.backwards(draft, 1)


def marked(mark: str) -> bool:
    return bool(_MARK.search(mark))
