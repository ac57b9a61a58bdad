"""Methods that learn from taking stored rollouts up again: which states they ask about, and what the answers say.

The directory is the registry: a method is one file. All of them are pure functions of records; `run/resampling.py` does
the asking.
"""
