"""`fragmented_puzzle`: several passages that each hold a part of the answer, locally plausible, and say so."""

import re

PASSAGES = 2
SKIPPED_HOPS = 0
SIGNAL = re.compile(
    r"\b(?:part|portion|half|third|only|alone|section|stage|phase|excerpt|incomplete|partial\w*|remainder|the rest)\b",
    re.IGNORECASE,
)
