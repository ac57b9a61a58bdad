"""Log the progress of long work. The command line shows these log lines."""

import logging
import time

NAME = "pipeline.progress"
_SECONDS = 5.0
"""Seconds between two lines. Shorter work logs nothing."""


class LoggedProgress:
    def __init__(self, what: str) -> None:
        self._what, self._shown, self._has_logged = what, time.monotonic(), False

    def at(self, done: int, total: int | None = None) -> None:
        """Log how much is done, if the last line is some seconds old or this is the end of work that was logged."""
        now = time.monotonic()
        if now - self._shown >= _SECONDS or (self._has_logged and done == total):
            self._shown, self._has_logged = now, True
            total_text = f" of {total:,}" if total is not None else ""
            logging.getLogger(NAME).info("%s: %s%s", self._what, f"{done:,}", total_text)
