"""What joins the documents of a corpus."""

import hashlib
from functools import cache
from pathlib import Path

from pydantic import Field

from pipeline import text
from pipeline.types import Data


class LinksConfig(Data):
    most_documents: int = Field(20, ge=2, le=1000)
    """The most documents that a phrase may occur in to link them; in a small corpus one in forty of its documents, or
    one for each hundred passages where these are more, and three at least. Versions of a document count as one."""
    unlinked: float = Field(0.1, ge=0, le=1)
    """Share of the seeds without a walk that the strategy `walk` runs as `sage` would, so that pairs do not come from
    the linked part of a corpus alone. The others are passed over before any call, as `no_walk`."""


@cache
def code() -> str:
    """A digest of the code that finds links and walks."""
    files = [*sorted((Path(text.__file__).parents[1] / "links").glob("*.py")), Path(text.__file__)]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
