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


@cache
def code() -> str:
    """Return a digest of the code that finds links."""
    files = [*sorted((Path(text.__file__).parents[1] / "links").glob("*.py")), Path(text.__file__)]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
