"""Hash ids and texts, and find a hash in a sorted array."""

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.uint32]


def hash_text(text: str) -> int:
    """Return a hash of 64 bits. Compare the texts themselves after a match."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def places(hashes: Hashes, key: int) -> Iterator[int]:
    """Yield the indices of a hash in a sorted array. More than one is extremely unlikely."""
    target = np.uint64(key)
    index = int(hashes.searchsorted(target))
    while index < len(hashes) and hashes[index] == target:
        yield index
        index += 1
