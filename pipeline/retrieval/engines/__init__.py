"""The retrievers that a run can name, one file each."""
