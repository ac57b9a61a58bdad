"""A corpus of towns, mills and people linked by name, with texts beside them that must link nothing."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline import corpus
from pipeline.links.opening import open_links
from pipeline.links.stored import StoredLinks

Opened = Callable[..., StoredLinks]
FILLER = (
    "the weather in this valley is mild and many people of that region come here to walk when their season seems dry"
)


def make_unlinked_documents(count: int) -> list[dict[str, str]]:
    """Documents without links, so that the corpus is no small one."""
    chance, filler = random.Random(0), FILLER.split()
    return [{"id": f"pad{n}", "title": f"Notes {n}", "text": " ".join(chance.sample(filler, 12))} for n in range(count)]


@pytest.fixture
def open_documents_links(tmp_path: Path) -> Opened:
    """Return a function that opens the links of documents, given as rows or texts."""

    def open_documents(
        *documents: str | dict[str, Any], pad: int = 0, most: int = 20, name: str = "towns"
    ) -> StoredLinks:
        rows = [
            document if isinstance(document, dict) else {"id": f"d{n}", "title": "", "text": document}
            for n, document in enumerate(documents)
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in [*rows, *make_unlinked_documents(pad)]), encoding="utf-8")
        return open_links(corpus.load(corpus.resolve(str(path)), tmp_path / "out"), most)

    return open_documents


def read_phrases(links: StoredLinks) -> dict[str, set[str]]:
    """Return each phrase with the documents that contain it."""
    return {
        links.text(number): {links.passage(mention.place).document_id for mention in links.mentions(number)}
        for number in range(len(links))
    }


@pytest.fixture(scope="session")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> StoredLinks:
    """Open the links of the first articles of the shipped corpus."""
    import pyarrow as pa

    folder: Path = tmp_path_factory.mktemp("wiki")
    shipped = corpus.resolve("wiki").path
    with pa.input_stream(str(shipped), compression="zstd") as stream:
        lines = stream.read(1 << 20).split(b"\n")[:-1]
    (folder / "articles.jsonl").write_bytes(b"\n".join(lines))
    return open_links(corpus.load(corpus.resolve(str(folder / "articles.jsonl")), folder), 20)
