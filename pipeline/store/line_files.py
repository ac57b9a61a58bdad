"""Which files of lines a folder holds."""

from pathlib import Path

from pipeline.errors import StoreError, reason


def files_of_lines(folder: Path) -> list[Path]:
    """The `*.jsonl` of a folder, in order; none where it is not there. Raises StoreError where it cannot be read, which
    `glob` takes for empty."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".jsonl")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"cannot read {folder}: {reason(error)}") from error
