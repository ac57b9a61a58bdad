"""The settings of the retriever and of the links between documents, and which of them are part of the run's digest."""

import hashlib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson
from pydantic import Field, field_validator, model_validator

from pipeline import text
from pipeline.store.files import checksum
from pipeline.types import Data, sha256

Pooling = Literal["model", "mean", "cls", "last"]


class DenseConfig(Data):
    encoder: str = ""
    """A folder with `model.onnx` and `tokenizer.json`, or a model of sentence-transformers: its folder, or its name on
    the Hub followed by '@' and its revision."""
    digest: str = ""
    """Digest of the files in the encoder's folder. If empty, it is computed. If set, a folder with other files is
    refused."""
    query_prefix: str = ""
    """Text that the encoder expects before a query, such as 'query: ' for E5."""
    passage_prefix: str = ""
    """Text that the encoder expects before a passage, such as 'passage: '."""
    pooling: Pooling = "model"
    """How the token vectors of a text become one vector. `model`: as the encoder's own files say, or the mean if they
    say nothing. `mean`: their mean. `cls`: the first one. `last`: the last one."""
    normalise: bool = True
    """Compare vectors by cosine similarity. If false, by the dot product."""
    max_length: int = Field(512, ge=8, le=32_768)
    """Number of tokens of a text that the encoder sees. Longer texts are cut off."""
    index: Literal["flat", "hnsw"] = "flat"
    """`flat` compares a query with every vector. `hnsw` searches a graph, which is faster for millions of passages but
    misses some hits."""

    @model_validator(mode="before")
    @classmethod
    def _resolve_encoder(cls, tree: Any) -> Any:
        if not isinstance(tree, dict) or not isinstance(encoder := tree.get("encoder"), str) or not encoder:
            return tree
        if not (folder := Path(encoder)).is_dir():
            return tree
        return {**tree, "encoder": str(folder.resolve()), "digest": tree.get("digest") or folder_digest(folder)}

    @property
    def label(self) -> str:
        return Path(self.encoder).name if Path(self.encoder).is_absolute() else self.encoder

    @property
    def identity(self) -> str:
        return f"dense#{self.label}@{self._digest()[:12]}" if self.encoder else "dense"

    def passages_digest(self) -> str:
        """Return a digest of everything that the vectors of passages depend on."""
        return self._digest("query_prefix", "index")

    def digest_input(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json"), "encoder": self.label}

    def _digest(self, *excluded: str) -> str:
        settings = {name: value for name, value in self.digest_input().items() if name not in excluded}
        return sha256(orjson.dumps(settings, option=orjson.OPT_SORT_KEYS).decode())


def folder_digest(folder: Path) -> str:
    """Return a digest of the names and bytes of all files in a folder. Each file is read once in a process."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    stats = [(path, path.stat()) for path in files]
    lines = [f"{path.relative_to(folder)} {_file_digest(path, stat.st_size, stat.st_mtime_ns)}" for path, stat in stats]
    return sha256("\n".join(lines))


@lru_cache(maxsize=1024)
def _file_digest(path: Path, size: int, mtime_ns: int) -> str:
    return checksum(path)


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
    """Further retrievers, or addresses, that the reviews also search. Name those that training will use. A draft is
    sent back if any of them finds a shortcut."""

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


class LinksConfig(Data):
    most_documents: int = Field(20, ge=2, le=1000)
    """A phrase links documents only if it occurs in at most this many. In a small corpus the limit is lower.
    Versions of a document count as one."""


@cache
def links_code() -> str:
    """Return a digest of the code that finds links."""
    files = [*sorted((Path(text.__file__).parents[1] / "links").glob("*.py")), Path(text.__file__)]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
