"""Which texts and ids came before: 64 bits of hash and a row for each, in sorted runs, most of which lie on disk."""

import hashlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.store.files import atomic_file

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.uint32]
_TOGETHER = 16
"""Runs of one part each that are kept in memory until they become one on disk."""


def hashed(text: str) -> int:
    """64 bits. Whoever finds one compares what it stands for."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def places(run: Hashes, key: int) -> Iterator[int]:
    """Where a hash stands in a sorted run of them: at one place, but for the rarest of chances."""
    wanted = np.uint64(key)
    place = int(run.searchsorted(wanted))
    while place < len(run) and run[place] == wanted:
        yield place
        place += 1


class SeenHashes:
    """Grows by a part at a time. Its files lie in `folder`, are of no use without it, and may be removed after it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._large = 0
        self._small: list[tuple[Hashes, Rows]] = []

    def find(self, hashes: Hashes) -> dict[int, list[int]]:
        """For each place of a hash that was there before, the rows that have it."""
        found: dict[int, list[int]] = {}
        order = np.argsort(hashes)
        asked = hashes[order]  # sorted, since they then look at each page of a run once
        for run, rows in chain(map(self._mapped, range(self._large)), self._small):
            left = run.searchsorted(asked)
            for index in np.flatnonzero(run[np.minimum(left, len(run) - 1)] == asked):
                again = (int(rows[place]) for place in places(run, asked[index]))
                found.setdefault(int(order[index]), []).extend(again)
        return found

    def add(self, hashes: Hashes, rows: Rows) -> None:
        if len(hashes):
            self._small.append(_sorted(hashes, rows))
        if len(self._small) == _TOGETHER:
            small = self._small
            run, numbers = _sorted(np.concatenate([h for h, _ in small]), np.concatenate([r for _, r in small]))
            of_hashes, of_rows = self._paths(self._large)
            _write(of_hashes, run)
            _write(of_rows, numbers)
            self._large += 1
            self._small = []

    def _paths(self, number: int) -> list[Path]:
        return [self._folder / f"{self._name}-{number}-{what}.npy" for what in ("hashes", "rows")]

    def _mapped(self, number: int) -> tuple[Any, Any]:
        """Mapped anew each time, so that what was looked at is let go."""
        hashes, rows = (np.load(path, mmap_mode="r", allow_pickle=False) for path in self._paths(number))
        return hashes, rows


def _write(path: Path, values: npt.NDArray[Any]) -> None:
    with atomic_file(path) as file:
        np.save(file, values, allow_pickle=False)


def _sorted(hashes: Hashes, rows: Rows) -> tuple[Hashes, Rows]:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], rows[order]
