"""The answers that workers pay for, on their way into the cache of the run. Every step can be repeated."""

import logging
import shutil
from contextlib import closing
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.store.cache import Cache
from pipeline.store.files import clear_errors
from pipeline.store.real_paths import make_folder, refuse_links

logger = logging.getLogger(__name__)
ANSWERS = "answers"
"""The subfolder of a run in which workers keep their answers until those are moved into the run's cache."""


def answers_folder(run: Path, name: str) -> Path:
    folder = run / ANSWERS / name
    with clear_errors(folder):
        make_folder(folder)
    return folder


def take_batch(folder: Path, batch: str, target: Path) -> None:
    """Move the answers of all workers that had the batch, even killed ones, into the run's cache `target`."""
    refuse_links(folder)
    if paths := sorted(folder.glob(f"{batch}-*.sqlite")):
        with closing(Cache(target)) as cache:
            for path in paths:
                try:
                    cache.take(path)
                except StoreError as error:
                    logger.warning("answers of a worker are lost: %s", error)
                for end in ("", "-wal", "-shm"):
                    path.with_name(path.name + end).unlink(missing_ok=True)


def take_left(run: Path, target: Path) -> None:
    """Move the answers of every batch that killed commands have left. The caller must hold the run's lock."""
    for folder in (run / ANSWERS).glob("*"):
        take_batch(folder, "*", target)
    shutil.rmtree(run / ANSWERS, ignore_errors=True)
