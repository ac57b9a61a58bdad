"""What joins the documents of a corpus."""

from pydantic import Field

from pipeline.types import Data


class LinksConfig(Data):
    most_documents: int = Field(20, ge=2, le=1000)
    """The most documents that a phrase may occur in to link them; in a small corpus one in forty of its documents, and
    three at least. Versions of a document count as one. Not digested: no pair depends on links."""
