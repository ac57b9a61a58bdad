"""Files that are copied into `code/` of a data set: they stand alone and import nothing of ours."""
