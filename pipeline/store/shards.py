"""What the shards of a run leave, taken over into the run's own folder. All of it can be repeated."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.store.cache import Cache
from pipeline.store.files import atomic_file
from pipeline.store.journal import Entry, Journal
from pipeline.store.lock import locked


def join_journals(folder: Path, shards: Sequence[Path]) -> list[int]:
    """Add to the journal in `folder` the lines of seeds that it lacks; how many good lines each shard's journal has.

    It stays one file, as that of a run without shards. A process may be adding to a shard's journal meanwhile.
    """
    known, counts, new = set(Journal(folder).entries), list[int](), list[Entry]()
    for shard in shards:
        entries = Journal(shard).entries
        counts.append(len(entries))
        new += (entry for key, entry in entries.items() if key not in known)
        known |= entries.keys()
    path = folder / "main.jsonl"
    if new:
        with atomic_file(path) as file:
            file.writelines(_whole_lines(path))
            for entry in new:
                with entry.path.open("rb") as lines:
                    lines.seek(entry.offset)
                    file.write(lines.readline())
    return counts


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
                cache = Cache(target)
                cache.take(shard / name)
                cache.close()
            return True
    except StoreError:
        return False
