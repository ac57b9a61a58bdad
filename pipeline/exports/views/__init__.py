"""Views: records → rows, one file per consumer, each with its own explicit Arrow schema.

A schema is never inferred: an empty list in a first shard, or a key that only later rows have, breaks every reader.
Optional text is empty, not null; null is kept for what does not apply to a row.
"""
