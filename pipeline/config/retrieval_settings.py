"""The settings of the retriever, and which of them are part of the run's digest."""

from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from pipeline.config.dense_settings import DenseConfig
from pipeline.types import Data

TOKEN_ENV = "DIGSITE_TOKEN"  # noqa: S105
"""The environment variable with the token of a retrieval server, for `digsite serve` and its clients."""
_PARTS = ("lucene", "dense")


class RetrievalConfig(Data):
    retriever: str = "lucene"
    """`lucene`, `bm25`, `dense`, `hybrid`, or the address of a server with Search-R1's interface, followed by '#' and a
    name for its index."""
    k: int = Field(5, ge=1, le=100)
    """Number of passages that each search returns to an agent."""
    dense: DenseConfig = DenseConfig()
    """The encoder of `dense`."""
    parts: tuple[str, ...] = Field(_PARTS, min_length=2, max_length=8)
    """The retrievers, or addresses, whose ranks `hybrid` fuses."""
    audit: tuple[str, ...] = Field((), max_length=8)
    """Further retrievers, or addresses, that the reviews also search. Name those that training will use, since a
    question that is hard for BM25 may be trivial for a dense index. A draft is sent back if any of them finds a
    shortcut. The column `one_search` says what each of them finds for an accepted pair. Rollouts only use the run's own
    retriever."""

    @field_validator("retriever")
    @classmethod
    def _check_address(cls, retriever: str) -> str:
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
    def _check_parts(cls, parts: tuple[str, ...]) -> tuple[str, ...]:
        if "hybrid" in parts or len(set(parts)) < len(parts):
            raise ValueError("must be different retrievers, none of them hybrid")
        return tuple(cls._check_address(part) for part in parts)

    @field_validator("audit")
    @classmethod
    def _check_audit(cls, audit: tuple[str, ...]) -> tuple[str, ...]:
        identities = [cls(retriever=cls._check_address(retriever)).identity for retriever in audit]
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
        return self.parts if self.retriever == "hybrid" else (self.retriever,)

    @property
    def others(self) -> dict[str, "RetrievalConfig"]:
        """Return the settings of the further retrievers of the audit, by identity."""
        settings = {self.of(retriever).identity: self.of(retriever) for retriever in self.audit}
        return {identity: other for identity, other in settings.items() if identity != self.identity}

    @property
    def identity(self) -> str:
        """Return the retriever in the digest: its kind, with the encoder of `dense` or the name of a server's index."""
        if self.retriever == "hybrid":
            return f"hybrid#{'+'.join(self.of(part).identity for part in self.parts)}"
        if self.retriever == "dense":
            return self.dense.identity
        if not self.remote:
            return self.retriever
        name = urlsplit(self.retriever).fragment
        return f"http#{name}" if name else "http"

    def of(self, retriever: str) -> "RetrievalConfig":
        return self.model_copy(update={"retriever": retriever, "audit": ()})

    def digest_input(self) -> dict[str, Any]:
        tree: dict[str, Any] = {"retriever": self.identity, "k": self.k, "audit": list(self.others)}
        uses_dense = any("dense" in settings.kinds for settings in (self, *self.others.values()))
        return {**tree, "dense": self.dense.digest_input()} if uses_dense else tree
