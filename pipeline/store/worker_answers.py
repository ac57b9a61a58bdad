"""The answers that workers pay for, which are moved into the cache of their run. Every step can be repeated."""

import logging
import shutil
from contextlib import closing
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.store.cache import Cache
from pipeline.store.files import clear_errors

logger = logging.getLogger(__name__)
ANSWERS = "answers"
"""The folder, in that of a run, in which workers keep what they have paid for until it is taken over."""


def answers_folder(run: Path, name: str) -> Path:
    """A new folder for the answers of workers, who find it only where they share the disk."""
    folder = run / ANSWERS / name
    with clear_errors(folder):
        folder.mkdir(parents=True)
    return folder


def take_batch(folder: Path, batch: str, target: Path) -> None:
    """Move the answers of the workers that have had the batch, the killed ones too, into the run's cache `target`."""
    if found := sorted(folder.glob(f"{batch}-*.sqlite")):
        with closing(Cache(target)) as cache:
            for path in found:
                try:
                    cache.take(path)
                except StoreError as error:
                    logger.warning("answers of a worker are lost: %s", error)
                for end in ("", "-wal", "-shm"):
                    path.with_name(path.name + end).unlink(missing_ok=True)


def take_left(run: Path, target: Path) -> None:
    """As `take_batch`, of every batch that commands on the run have left: they were killed. Hold the run's lock."""
    for folder in (run / ANSWERS).glob("*"):
        take_batch(folder, "*", target)
    shutil.rmtree(run / ANSWERS, ignore_errors=True)
