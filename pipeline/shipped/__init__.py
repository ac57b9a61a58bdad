"""Files that are copied beside the shards of a view: they stand alone and import nothing of ours."""
