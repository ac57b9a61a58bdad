"""The kinds of distractor, one file each."""
