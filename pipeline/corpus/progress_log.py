"""How far long work has come, as lines of a log that the command line shows."""

import logging
import time

NAME = "pipeline.progress"
_SECONDS = 5.0
"""Between two lines; work that takes less shows none."""


class LoggedProgress:
    def __init__(self, what: str) -> None:
        self._what, self._shown = what, time.monotonic()

    def at(self, done: int, whole: int | None = None) -> None:
        now = time.monotonic()
        if now - self._shown >= _SECONDS:
            self._shown = now
            of = f" of {whole:,}" if whole is not None else ""
            logging.getLogger(NAME).info("%s: %s%s", self._what, f"{done:,}", of)
