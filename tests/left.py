"""What a run or a data set has left on the disk, to be compared."""

from pathlib import Path

from pipeline.store.journal import Journal, encode


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below, by its path from there."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lines(run: Path) -> dict[str, bytes]:
    """The journal's lines by key; none of them may be damaged, torn or there twice."""
    journal = Journal(run.resolve() / "journal")
    assert journal.damaged == journal.torn == journal.duplicates == 0
    return {key: encode(entry.head, journal.read(key)) for key, entry in journal.entries.items()}
