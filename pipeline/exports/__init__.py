"""Everything that a run publishes: views in shards, card, report, mixes, upload. All of it is made from records.

It may import `analysis`, `gates` and what is below them, but neither `run` nor a command.
"""
