"""Search engines over a prepared corpus."""
