"""Assigns documents to a side of the split, train or eval."""

from functools import lru_cache
from typing import Literal

from pipeline.types import sha256

Side = Literal["train", "eval"]
EVAL_SHARE = 0.05
"""The share of documents that are used for evaluation only."""


@lru_cache(maxsize=65536)
def side(document_id: str) -> Side:
    """Return a document's side. It depends on the id alone, so that it never changes while a corpus or a run grows."""
    return "eval" if int(sha256(f"side\0{document_id}")[:8], 16) < EVAL_SHARE * 2**32 else "train"


def share(of: Side) -> float:
    """Return the share of the documents that are on a side."""
    return EVAL_SHARE if of == "eval" else 1 - EVAL_SHARE
