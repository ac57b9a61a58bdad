"""`subjective_fallacy`: an opinion, in tone and in words, with one objective error."""

import re

PASSAGES = 1
SKIPPED_HOPS = 0
SIGNAL = re.compile(
    r"\b(?:I|my|me|we|our|opinion|feel|felt|believe|view|personally|honestly|frankly|favou?rite|love|hate)\b",
    re.IGNORECASE,
)
