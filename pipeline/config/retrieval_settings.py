"""Which retriever a run searches with, and what of that is digested."""

from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from pipeline.config.dense_settings import DenseConfig
from pipeline.types import Data

TOKEN_ENV = "DIGSITE_TOKEN"  # noqa: S105
"""The environment variable that holds the token of a retrieval server, served or asked."""
_PARTS = ("lucene", "dense")


class RetrievalConfig(Data):
    retriever: str = "lucene"
    """`lucene`, `bm25`, `dense`, `hybrid`, or the address of a server with Search-R1's interface, followed by '#'
    and a name for its index."""
    k: int = Field(5, ge=1, le=100)
    """Passages per search, for every agent."""
    dense: DenseConfig = DenseConfig()
    """The encoder of `dense`."""
    parts: tuple[str, ...] = Field(_PARTS, min_length=2, max_length=8)
    """The retrievers, or addresses, whose ranks `hybrid` fuses."""
    audit: tuple[str, ...] = Field((), max_length=8)
    """More retrievers, or addresses, that the reviews search beside the run's own: name those that training will
    use. A draft is sent back if any of them finds a shortcut, since what is hard for BM25 may be trivial for a dense
    index. The column `one_search` says what each of them finds of an accepted pair. Rollouts use the run's own
    retriever only."""

    @field_validator("retriever")
    @classmethod
    def _plain_address(cls, retriever: str) -> str:
        parts = urlsplit(retriever)
        if parts.scheme and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError(
                "must be lucene, bm25, dense, hybrid, or an address such as http://localhost:8000/retrieve"
            )
        if parts.username or parts.password or parts.query:
            raise ValueError(f"must not contain a key or query: set a token in the variable {TOKEN_ENV}")
        return retriever

    @field_validator("parts")
    @classmethod
    def _plain_parts(cls, parts: tuple[str, ...]) -> tuple[str, ...]:
        if "hybrid" in parts or len(set(parts)) < len(parts):
            raise ValueError("must be different retrievers, none of them hybrid")
        return tuple(cls._plain_address(part) for part in parts)

    @field_validator("audit")
    @classmethod
    def _each_once(cls, audit: tuple[str, ...]) -> tuple[str, ...]:
        identities = [cls(retriever=cls._plain_address(one)).identity for one in audit]
        if len(set(identities)) < len(identities):
            raise ValueError(
                "must be different retrievers; give each address a name of its own: http://host/retrieve#e5"
            )
        return audit

    @property
    def remote(self) -> bool:
        return "://" in self.retriever

    @property
    def kinds(self) -> tuple[str, ...]:
        """The retrievers that rank: the parts of `hybrid`, or the one."""
        return self.parts if self.retriever == "hybrid" else (self.retriever,)

    @property
    def others(self) -> dict[str, "RetrievalConfig"]:
        """The settings of the retrievers that the audit searches beside the run's own, by what identifies each."""
        asked = {self.of(one).identity: self.of(one) for one in self.audit}
        return {identity: settings for identity, settings in asked.items() if identity != self.identity}

    @property
    def identity(self) -> str:
        """What is digested: the kind, for `dense` with its encoder and settings, or `http` and the name of the index,
        wherever it stands."""
        if self.retriever == "hybrid":
            return f"hybrid#{'+'.join(self.of(part).identity for part in self.parts)}"
        if self.retriever == "dense":
            return self.dense.identity
        if not self.remote:
            return self.retriever
        name = urlsplit(self.retriever).fragment
        return f"http#{name}" if name else "http"

    def of(self, retriever: str) -> "RetrievalConfig":
        """The same settings for another retriever, alone."""
        return self.model_copy(update={"retriever": retriever, "audit": ()})

    def digested(self) -> dict[str, Any]:
        """The digested part."""
        tree: dict[str, Any] = {"retriever": self.identity, "k": self.k, "audit": list(self.others)}
        dense = any("dense" in settings.kinds for settings in (self, *self.others.values()))
        return {**tree, "dense": self.dense.digested()} if dense else tree
