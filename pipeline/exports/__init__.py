"""From the journal to a data set that trainers load: views, card, shards, mixes and push."""
