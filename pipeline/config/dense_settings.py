"""The encoder of a dense retriever, and how texts go through it."""

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import Field, model_validator

from pipeline.store.files import checksum
from pipeline.types import Data, sha256

Pooling = Literal["model", "mean", "cls", "last"]


class DenseConfig(Data):
    encoder: str = ""
    """A folder with `model.onnx` and `tokenizer.json`, or what sentence-transformers loads: a folder, or a name on the
    Hub with, after an '@', its revision."""
    digest: str = ""
    """Digest of the files in the encoder's folder; computed if left empty. A folder with other files is refused."""
    query_prefix: str = ""
    """Text that the encoder expects before a query, such as 'query: ' for E5."""
    passage_prefix: str = ""
    """Text that the encoder expects before a passage, such as 'passage: '."""
    pooling: Pooling = "model"
    """How the token vectors of a text become one vector: as the encoder's own files say (`model`; the mean if they
    say nothing), their mean, the first one (`cls`) or the last one."""
    normalise: bool = True
    """Compare vectors by cosine similarity; if false, by the dot product."""
    max_length: int = Field(512, ge=8, le=32_768)
    """Tokens of a text that the encoder sees; the rest is cut off."""
    index: Literal["flat", "hnsw"] = "flat"
    """`flat` compares a query with every vector; `hnsw` searches a graph, which is faster for millions of passages
    and misses some. The graph is built on one core, so that it is the same every time."""

    @model_validator(mode="before")
    @classmethod
    def _found(cls, tree: Any) -> Any:
        if not isinstance(tree, dict) or not isinstance(encoder := tree.get("encoder"), str) or not encoder:
            return tree
        if not (folder := Path(encoder)).is_dir():
            return tree
        return {**tree, "encoder": str(folder.resolve()), "digest": tree.get("digest") or folder_digest(folder)}

    @property
    def label(self) -> str:
        """The encoder's name without the folders above it."""
        return Path(self.encoder).name if Path(self.encoder).is_absolute() else self.encoder

    @property
    def identity(self) -> str:
        return f"dense#{self.label}@{self._digest()[:12]}" if self.encoder else "dense"

    def passages_digest(self) -> str:
        """Of all that the vectors of passages rest on."""
        return self._digest("query_prefix", "index")

    def what(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json"), "encoder": self.label}

    def _digest(self, *without: str) -> str:
        kept = {name: value for name, value in self.what().items() if name not in without}
        return sha256(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS).decode())


def folder_digest(folder: Path) -> str:
    """Of the names and bytes of all files in a folder of weights; each file is read once in a process."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    stats = [(path, path.stat()) for path in files]
    named = [f"{path.relative_to(folder)} {_file_digest(path, stat.st_size, stat.st_mtime_ns)}" for path, stat in stats]
    return sha256("\n".join(named))


@lru_cache(maxsize=1024)
def _file_digest(path: Path, size: int, mtime_ns: int) -> str:
    return checksum(path)
