"""A folder that is gone afterwards, for what must leave nothing behind."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder in the system's place for such."""
    with tempfile.TemporaryDirectory(prefix="digsite-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
