"""Methods that sample again from states of stored rollouts: which states, and what the samples show.

The directory is the registry: each method is one file. All are pure functions of records; `afterwards/resampling.py`
makes the samples.
"""
