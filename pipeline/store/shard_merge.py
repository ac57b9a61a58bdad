"""What the shards of a run and its workers leave, taken over to where the run keeps it. All of it can be repeated."""

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.store.cache import Cache
from pipeline.store.checked_lines import line_at
from pipeline.store.files import atomic_file, clear_errors
from pipeline.store.journal import Entry, Head, Journal, RunIdentity, record_at
from pipeline.store.lock import locked
from pipeline.store.real_paths import make_folder, refuse_links

logger = logging.getLogger(__name__)
ANSWERS = "answers"
"""The folder, in that of a run, in which workers keep what they have paid for until it is taken over."""


def join_journals(
    folder: Path, shards: Sequence[Path], run: RunIdentity | None, planned: Callable[[Head], bool]
) -> list[tuple[int, int]]:
    """Add to the journal in `folder` the lines of seeds that it lacks; how many lines of each shard's journal are good,
    and how many are left out: they are damaged or not `planned`, or their record cannot be read.

    It stays one file, as that of a run without shards. A process may be adding to a shard's journal meanwhile.
    """
    joined, counts, new = Journal(folder, run=run), list[tuple[int, int]](), list[Entry]()
    for shard in shards:
        journal = Journal(shard, run=run)
        added = {key: entry for key, entry in journal.entries.items() if not joined.stands(entry.head)}
        good = {key: entry for key, entry in added.items() if planned(entry.head) and _readable(entry)}
        new += good.values()
        joined.entries |= good
        left_out = len(added) - len(good)
        counts.append((len(journal.entries) - left_out, journal.damaged + left_out))
    path = folder / "main.jsonl"
    if new:
        with atomic_file(path) as file:
            file.writelines(_whole_lines(path))
            for entry in new:
                file.write(line_at(entry.path, entry.offset))
    return counts


def _readable(entry: Entry) -> bool:
    try:
        record_at(entry.path, entry.offset)
    except StoreError as error:
        logger.warning("%s", error)
        return False
    return True


def take_lines(source: Path, target: Path) -> None:
    """Replace `target` by the lines of `source` that are there whole, to which a process may be adding."""
    if source.exists():
        with atomic_file(target) as file:
            file.writelines(_whole_lines(source))


def _whole_lines(path: Path) -> Iterator[bytes]:
    if path.exists():
        with path.open("rb") as lines:
            yield from (line for line in lines if line.endswith(b"\n"))


def take_answers(shard: Path, name: str, target: Path) -> bool:
    """Copy what the shard has paid for into the cache `target`. False where a process is at work on the shard: its file
    must not be read from another machine meanwhile."""
    try:
        with locked(shard):
            if (shard / name).exists():
                with closing(Cache(target)) as cache:
                    cache.take(shard / name)
            return True
    except StoreError:
        return False


def answers_folder(run: Path, name: str) -> Path:
    """A new folder for the answers of workers, who find it only where they share the disk."""
    folder = run / ANSWERS / name
    with clear_errors(folder):
        make_folder(folder)
    return folder


def take_batch(folder: Path, batch: str, target: Path) -> None:
    """Move the answers of the workers that have had the batch, the killed ones too, into the run's cache `target`."""
    refuse_links(folder)
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
