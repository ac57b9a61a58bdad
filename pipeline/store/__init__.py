"""The only code that opens files for writing: the journal, the cache, atomic files and folders, the lock of a run."""
