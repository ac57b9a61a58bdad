"""On which side of the split, train or eval, a document lies."""

from functools import lru_cache
from typing import Literal

from pipeline.types import sha256

Side = Literal["train", "eval"]
EVAL_SHARE = 0.05
"""Share of the documents that give questions for evaluation only."""


@lru_cache(maxsize=65536)
def side(document_id: str) -> Side:
    """A document's side: by hash of its id alone, so that it never moves while a corpus or a run grows."""
    return "eval" if int(sha256(f"side\0{document_id}")[:8], 16) < EVAL_SHARE * 2**32 else "train"
