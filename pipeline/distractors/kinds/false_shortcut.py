"""`false_shortcut`: a hedged claim that leads from the start of a hop past its answer to the end of the next one."""

import re

PASSAGES = 1
SKIPPED_HOPS = 1
SIGNAL = re.compile(
    r"\b(?:reportedly|allegedly|rumou?r\w*|unconfirmed|unproven|unverified|unclear|disputed|legend|hearsay|perhaps|possibly|"
    r"may|might|supposed\w*|without proof|said to|some (?:say|hold|claim|accounts)|"
    r"not (?:been )?(?:confirmed|proven|known|certain|established))\b",
    re.IGNORECASE,
)
