"""Chooses the pairs of a data set that is mixed of several runs, and says what each version adds.

It may import gates and shards; `run/mixing.py` opens the runs.
"""
