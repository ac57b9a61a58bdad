"""`doppelganger`: the hop's topic in another edition: one value is changed, and the edition is named."""

import re

PASSAGES = 1
SKIPPED_HOPS = 0
SIGNAL = re.compile(
    r"\b(?:edition|version|draft|revision|revised|survey|census|issue|reprint|release|report|series|season|volume|fiscal|"
    r"as of|dated|printing)\b|\b(?:1[4-9]|20)\d\d\b",
    re.IGNORECASE,
)
