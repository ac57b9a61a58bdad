"""`doppelganger`: a neighbouring case of the hop's topic (another year, release, namesake), with another value."""

PASSAGES = 1
SKIPPED_HOPS = 0
