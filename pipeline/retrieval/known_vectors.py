"""The vectors of an earlier state of a corpus, by the texts that they encode.

The encoder takes nearly all of the time that an index of vectors costs, and most texts of a corpus stay the same.
"""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from pipeline.corpus.hashes import Hashes, places
from pipeline.retrieval.encoder import Encoder, Matrix


def digest_texts(texts: Iterable[str]) -> Hashes:
    """Return the digest of each text, as a row of two numbers."""
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts)
    return np.frombuffer(digests, "<u8").reshape(-1, 2)


class KnownVectors:
    """Vectors that need not be computed again.

    Args:
        digests: of the texts, as `digest_texts` returns them.
        vectors: one for each digest.
    """

    def __init__(self, digests: Hashes, vectors: Matrix) -> None:
        self._rows: npt.NDArray[np.int64] = np.argsort(digests[:, 0], kind="stable")
        self._first, self._second = digests[self._rows, 0], digests[self._rows, 1]
        self._vectors = vectors

    def encode(self, texts: Sequence[str], encoder: Encoder) -> Matrix:
        """Return one vector per text. The encoder gets only the texts without a vector."""
        rows = [self._find(int(first), int(second)) for first, second in digest_texts(texts)]
        unknown = [index for index, row in enumerate(rows) if row is None]
        matrix = np.array(self._vectors[[row or 0 for row in rows]], np.float32)
        if unknown:
            matrix[unknown] = encoder.encode([texts[index] for index in unknown])
        return matrix

    def _find(self, first: int, second: int) -> int | None:
        matches = (index for index in places(self._first, first) if int(self._second[index]) == second)
        return next((int(self._rows[index]) for index in matches), None)
