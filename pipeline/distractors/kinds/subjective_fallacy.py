"""`subjective_fallacy`: an opinion, in tone and in words, with one objective error inside it."""

PASSAGES = 1
SKIPPED_HOPS = 0
