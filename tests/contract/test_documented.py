"""The plug-ins in the documentation are one file each, and do what their pages say."""

import asyncio
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.corpus import load, resolve
from pipeline.errors import UsageError
from pipeline.exports import views
from pipeline.retrieval import engines
from pipeline.retrieval.open_retriever import open_retriever
from tests.docs import blocks


def read_plugin(page: str) -> tuple[str, str]:
    """Return the name and text of the plug-in of a page."""
    (block,) = (block for block in blocks.read_blocks(f"docs/howto/{page}.md") if block.title.startswith("pipeline/"))
    return Path(block.title).stem, block.text


def test_the_documented_view_is_exported(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, code = read_plugin("write-view")
    shutil.copytree(out, tmp_path / "out", symlinks=True)
    folder = tmp_path / "out/tiny/latest"
    with pytest.raises(UsageError, match=f"no view '{name}'"):
        pipeline.export(folder, views=[name])
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(views, "__path__", [*views.__path__, str(tmp_path / "plugins")])
    pipeline.export(folder, views=[name, "qa"])
    rows = pq.read_table(folder / "dataset" / name).to_pylist()
    plain = pq.read_table(folder / "dataset" / "qa").to_pylist()
    assert {(row["question"], row["answer"]) for row in rows} == {(row["question"], row["answer"]) for row in plain}
    assert rows


def test_the_documented_retriever_searches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, code = read_plugin("write-retriever")
    (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(engines, "__path__", [*engines.__path__, str(tmp_path)])
    corpus = load(resolve("tiny"))
    retrievers = open_retriever(name, corpus, tmp_path), open_retriever("bm25", corpus, tmp_path)
    hits = asyncio.run(retrievers[0].search("who built the Kessel Bridge", 5))
    assert len(hits) > 1
    assert hits == asyncio.run(retrievers[1].search("built the Kessel Bridge", 5))
