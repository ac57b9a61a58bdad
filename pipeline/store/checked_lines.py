"""Files of lines that each carry the sha256 of what they hold: which files, which lines are good, and where they stand.

A line that is torn, or whose hash is another, is no line: who kept it writes it again.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import StoreError, reason


def files_of_lines(folder: Path) -> list[Path]:
    """The `*.jsonl` of a folder, in order; none where it is not there. Raises StoreError where it cannot be read, which
    `glob` takes for empty."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".jsonl" and path.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"cannot read {folder}: {reason(error)}") from error


def line_at(path: Path, offset: int) -> bytes:
    """The line that begins there."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.readline()


def scanned(
    path: Path, pattern: re.Pattern[bytes], start: int = 0
) -> Iterator[tuple[int, bytes, re.Match[bytes] | None]]:
    """Where each line begins from `start` on, the line, and what `checked` says of it; the last one may be torn."""
    with path.open("rb", buffering=1 << 20) as file:
        file.seek(start)
        for line in file:
            yield start, line, checked(pattern, line) if line.endswith(b"\n") else None
            start += len(line)


def checked(pattern: re.Pattern[bytes], line: bytes) -> re.Match[bytes] | None:
    """What the pattern finds in a good line. Its first group is the hash, its second all that the hash covers."""
    match = pattern.fullmatch(line)
    if match is None:
        return None
    # A view: a line may have megabytes, and there may be hundreds of thousands of them.
    return match if hash_of(memoryview(line)[slice(*match.span(2))]) == match[1] else None


def hash_of(body: bytes | memoryview) -> bytes:
    """The hash as a line carries it."""
    return hashlib.sha256(body).hexdigest().encode()
