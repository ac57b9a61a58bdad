"""The settings of a dense retriever's encoder."""

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
    misses some hits. The graph is built on one core, so that it is the same every time."""

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
