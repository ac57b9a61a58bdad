"""Read what a run or a data set wrote, to compare it."""

from pathlib import Path

from pipeline.store.journal import Journal, encode


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file in a folder, by its relative path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read_journal(run: Path) -> dict[str, bytes]:
    """Return the lines of a journal by key. None may be damaged, torn or a duplicate."""
    journal = Journal(run.resolve() / "journal")
    assert journal.damaged == journal.torn == journal.duplicates == 0
    return {key: encode(entry.head, journal.read(key)) for key, entry in journal.entries.items()}
