"""Views turn records into rows: one file per consumer, each with its own explicit Arrow schema.

A schema is never inferred: an empty list in the first shard, or a key that only later rows have, breaks every reader.
Optional text is empty instead of null; null means that a column does not apply to the row.
"""
