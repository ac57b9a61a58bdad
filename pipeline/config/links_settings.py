"""The settings of the links between documents of a corpus."""

import hashlib
from functools import cache
from pathlib import Path

from pydantic import Field

from pipeline import text
from pipeline.types import Data


class LinksConfig(Data):
    most_documents: int = Field(20, ge=2, le=1000)
    """A phrase links documents only if it occurs in at most this many. In a small corpus the limit is lower: one
    fortieth of the documents or one hundredth of the passages, whichever is more, but at least three. Versions of a
    document count as one."""


@cache
def code() -> str:
    """Return a digest of the code that finds links."""
    files = [*sorted((Path(text.__file__).parents[1] / "links").glob("*.py")), Path(text.__file__)]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
