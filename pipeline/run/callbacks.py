"""The events of a run that its caller can follow."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pipeline.config import RunConfig
from pipeline.gates import Drop
from pipeline.run.attempts import Attempt
from pipeline.run.result import RunResult
from pipeline.store.journal import Head
from pipeline.types import Record, Seed

logger = logging.getLogger(__name__)


class RunView(Protocol):
    """The part of an open run that callbacks may read."""

    config: RunConfig
    folder: Path
    in_flight: dict[str, str]

    def records(self) -> Iterator[Record]: ...

    def progress(self) -> float: ...

    def result(self) -> RunResult: ...


class RunCallbacks(Protocol):
    """Functions called at the events of a run, in the run's own task, so they must be quick."""

    def stage(self, name: str) -> None:
        logger.info("%s", name)

    def begin(self, run: RunView) -> None:
        """Note, once and before the first seed, that the run has begun. `run.records()` gives earlier records."""
        logger.info("%s", run.folder)

    def record(self, record: Record) -> None:
        """Note that a seed has ended and is journalled."""
        logger.info("%s %s", record.status, record.reason)

    def attempt(self, attempt: Attempt) -> None:
        """Note that an attempt at a seed is over and paid for, however it ended."""
        logger.debug("%s ended as %s after %.1f s", attempt.key[:12], attempt.ended, attempt.seconds)

    def drop(self, head: Head, drop: Drop) -> None:
        """Note that a gate dropped an accepted seed, now that all earlier seeds have ended."""
        logger.info("%s dropped: %s", head.key[:12], drop.reason)

    def trouble(self, seed: Seed, error: Exception, pause: float) -> None:
        """Note that the endpoint or the index failed. The seed is run again after the pause."""
        logger.warning("%s; seed %s is tried again in %.0f s", error, seed.key[:12], pause)


class LogCallbacks(RunCallbacks):
    """Writes all events to the log."""
