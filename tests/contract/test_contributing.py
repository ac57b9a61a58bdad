"""The view of CONTRIBUTING.md is one file, and it works as it stands there."""

import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.dataset import views
from pipeline.errors import UsageError

ROOT = Path(__file__).parents[2]


def test_the_view_of_the_page_is_exported(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (name,) = re.findall(r"`pipeline/dataset/views/(\w+)\.py`:", page)
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shutil.copytree(out, tmp_path / "out", symlinks=True)
    folder = tmp_path / "out/tiny/latest"
    with pytest.raises(UsageError, match=f"no '{name}' among the views"):
        pipeline.export(folder, views=[name])
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(views, "__path__", [*views.__path__, str(tmp_path / "plugins")])
    pipeline.export(folder, views=[name, "qa"])
    made = pq.read_table(folder / "dataset" / name).to_pylist()
    plain = pq.read_table(folder / "dataset" / "qa").to_pylist()
    assert {(row["question"], row["answer"]) for row in made} == {(row["question"], row["answer"]) for row in plain}
    assert made
