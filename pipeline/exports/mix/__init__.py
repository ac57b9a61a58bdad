"""Chooses the pairs of a data set that is mixed of several runs, and records what each version changes.

It may import gates and shards; `afterwards/mixing.py` opens the runs.
"""
