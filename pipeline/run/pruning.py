"""Find and remove states of a corpus that no run needs any more: the prepared texts, the links and the indexes.

Each change of the documents leaves such a state, since every version of a run has its own. The newest version of a run
needs its state, and so does a run that a link such as `latest` names.
"""

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.corpus.loading import find_current
from pipeline.corpus.manifest import Manifest
from pipeline.run import resume, versions
from pipeline.run.locate import runs
from pipeline.store.files import remove_folder
from pipeline.store.lock_files import try_exclusive

CORPORA, _INDEXES = "corpora", "indexes"


class OldState(NamedTuple):
    fingerprint: str
    """Its first 12 digits."""
    folders: list[Path]
    """The indexes, and last the texts."""
    size: int
    """Bytes."""
    runs: list[str]
    """The old versions that were made with it."""


def find_old_states(manifest: Manifest, out: Path, keep: Collection[Path] = ()) -> list[OldState]:
    """Return the states of a corpus that are not needed, oldest first.

    Args:
        manifest: the corpus. Its state of today is needed.
        out: the folder of all runs.
        keep: folders of runs whose states are needed too.
    """
    out = out.resolve()
    users: dict[str, list[Path]] = {}
    for folder in runs(out):
        users.setdefault(resume.read_fingerprint(folder)[:12], []).append(folder)
    all_runs = [folder for folders in users.values() for folder in folders]
    needed_runs = {*keep, *_newest_versions(all_runs), *_linked_runs(all_runs)}
    needed = {fingerprint for fingerprint, folders in users.items() if not needed_runs.isdisjoint(folders)}
    needed.update(_begun_states(all_runs))
    if current := find_current(manifest, out):
        needed.add(current.fingerprint[:12])
    folders: dict[str, list[Path]] = {}
    for home in (_INDEXES, CORPORA):
        for folder in sorted((out / home).glob(f"{manifest.name}-*"), key=lambda path: path.lstat().st_mtime_ns):
            state = re.fullmatch(rf"{re.escape(manifest.name)}-([0-9a-f]{{12}})(-[\w-]+)?", folder.name)
            if state and state[1] not in needed and folder.is_dir() and not folder.is_symlink():
                folders.setdefault(state[1], []).append(folder)
    return [
        OldState(fingerprint, paths, sum(map(_size, paths)), [_name(run) for run in users.get(fingerprint, [])])
        for fingerprint, paths in folders.items()
    ]


def remove_state(state: OldState) -> bool:
    """Remove a state, or return False if a process uses it."""
    *_, last = state.folders
    if last.parent.name != CORPORA:  # its texts are gone already
        for folder in state.folders:
            remove_folder(folder)
        return True
    with try_exclusive(last) as is_unused:
        if is_unused:
            for folder in state.folders:
                remove_folder(folder)
    return is_unused


def _newest_versions(folders: list[Path]) -> Iterator[Path]:
    numbers: dict[Path, dict[int, Path]] = {}
    for folder in folders:
        first, number = versions.split_name(folder)
        numbers.setdefault(folder.with_name(first), {})[number] = folder
    return (by_number[max(by_number)] for by_number in numbers.values())


def _linked_runs(folders: list[Path]) -> Iterator[Path]:
    for home in {folder.parent for folder in folders}:
        yield from (home / link.readlink() for link in home.iterdir() if link.is_symlink())


def _begun_states(folders: list[Path]) -> Iterator[str]:
    """Yield the states of versions that are still to run."""
    for newest in {versions.find_newest(folder) for folder in folders}:
        if (version := versions.read_version(newest)) is not None:
            yield version.summary.corpus_fingerprint[:12]


def _size(folder: Path) -> int:
    return sum(Path(root, name).lstat().st_size for root, _, names in os.walk(folder) for name in names)


def _name(run: Path) -> str:
    return f"{run.parent.name}/{run.name}"
