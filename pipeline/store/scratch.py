"""A folder that is gone afterwards, for what must leave nothing behind."""

from tempfile import TemporaryDirectory


def scratch() -> TemporaryDirectory[str]:
    """An empty folder in the system's place for such, to be entered."""
    return TemporaryDirectory(prefix="digsite-", ignore_cleanup_errors=True)
