"""`fragmented_puzzle`: several passages that each hold a part of the answer, locally plausible, and say so."""

PASSAGES = 2
SKIPPED_HOPS = 0
