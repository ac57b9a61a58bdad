"""Which retriever a run searches with, and what of that is digested."""

from urllib.parse import urlsplit

from pydantic import Field, field_validator

from pipeline.types import Data

TOKEN_ENV = "DIGSITE_TOKEN"  # noqa: S105
"""The environment variable that holds the token of a retrieval server, served or asked."""


class RetrievalConfig(Data):
    retriever: str = "lucene"
    """A kind, or the address of a server that speaks Search-R1's contract, with a name for its index after a '#'."""
    k: int = Field(5, ge=1, le=100)
    """Passages per search, for every agent."""

    @field_validator("retriever")
    @classmethod
    def _plain_address(cls, retriever: str) -> str:
        parts = urlsplit(retriever)
        if parts.scheme and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError("must be lucene, bm25, or an address such as http://localhost:8000/retrieve")
        if parts.username or parts.password or parts.query:
            raise ValueError(f"must not contain a key or query: set a token in the variable {TOKEN_ENV}")
        return retriever

    @property
    def remote(self) -> bool:
        return "://" in self.retriever

    @property
    def identity(self) -> str:
        """What is digested: the kind, or `http` and the name of the index, wherever it stands."""
        if not self.remote:
            return self.retriever
        name = urlsplit(self.retriever).fragment
        return f"http#{name}" if name else "http"
