"""Data sets mixed of several runs: which pairs are taken, and what each version adds."""
