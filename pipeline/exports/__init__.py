"""What a run gives away: views in shards, card, report, mixes, upload. Every file here is made from records.

It may import `analysis`, `gates` and what lies below; neither `run` nor a command.
"""
