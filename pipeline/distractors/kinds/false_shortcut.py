"""`false_shortcut`: a loose claim that leads from the start of a hop past its answer to the end of the next one."""

PASSAGES = 1
SKIPPED_HOPS = 1
