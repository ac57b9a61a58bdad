"""Files of lines that each carry the sha256 of their content: finding the files, checking the lines, reading one.

A line that is torn or has the wrong hash is ignored, and its owner writes it again.
"""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import StoreError, reason


def files_of_lines(folder: Path) -> list[Path]:
    """Return the `*.jsonl` files of a folder, sorted. Raises StoreError if it is unreadable."""
    # Not `glob`, which takes an unreadable folder for an empty one.
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".jsonl" and path.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"cannot read {folder}: {reason(error)}") from error


def line_at(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.readline()


def scan_lines(
    path: Path, pattern: re.Pattern[bytes], start: int = 0
) -> Iterator[tuple[int, bytes, re.Match[bytes] | None]]:
    """Yield each line from `start` on with its offset and its match (see `match_line`); the last may be torn."""
    with path.open("rb", buffering=1 << 20) as file:
        file.seek(start)
        for line in file:
            yield start, line, match_line(pattern, line) if line.endswith(b"\n") else None
            start += len(line)


def match_line(pattern: re.Pattern[bytes], line: bytes) -> re.Match[bytes] | None:
    """Match a line, or return None if its hash is wrong.

    Args:
        pattern: its group 1 is the hash, its group 2 all that the hash covers.
    """
    match = pattern.fullmatch(line)
    if match is None:
        return None
    # A view: a line may have megabytes, and there may be hundreds of thousands of them.
    return match if hash_of(memoryview(line)[slice(*match.span(2))]) == match[1] else None


def hash_of(body: bytes | memoryview) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
