"""Hashes of ids and texts, and where one stands among many."""

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.uint32]


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
