"""Common Parquet readers read a view by its folder, and the files beside the rows work."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import datasets
import orjson
import pandas as pd
import polars as pl
import pyarrow.dataset as pads
import pytest

from pipeline.config import RunConfig
from pipeline.exports.data_set import DatasetManifest, Selection, export
from pipeline.exports.views import base
from tests import duckdb_rows
from tests.exports.column_types import OF_EACH_TYPE
from tests.fork_records import branched
from tests.records import accepted
from tests.teacher_rollouts import taught

ROOT = Path(__file__).parents[2]
VIEWS = base.names()
Side = Literal["train", "eval"]


def _hub(folder: Path) -> Sequence[str]:
    splits = datasets.load_dataset(str(folder), cache_dir=str(folder.parents[1] / "cache"))
    return [name for rows in splits.values() for name in rows.column_names for _ in rows]


def _arrow(folder: Path) -> Sequence[str]:
    table = pads.dataset(folder).to_table()
    return table.column_names * table.num_rows


READERS: dict[str, Callable[[Path], Sequence[str]]] = {
    "pandas": lambda folder: [name for frame in [pd.read_parquet(folder)] for name in frame for _ in frame.index],
    "polars": lambda folder: [name for frame in [pl.read_parquet(folder)] for name in frame.columns * frame.height],
    "pyarrow.dataset": _arrow,
    "datasets": _hub,
}
"""Each gives the name of every cell of a view, read by nothing but the view's folder."""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DatasetManifest]:
    folder = tmp_path_factory.mktemp("made") / "dataset"
    sides: list[Side] = ["train", "train", "eval"]
    records = [
        record
        for n, side in enumerate(sides)
        for record in (accepted(n, side), branched(10 + n, side=side), taught(20 + n, side=side))
    ]
    return folder, export(records, folder, Selection(config=RunConfig()))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("view", OF_EACH_TYPE)
def test_every_reader_reads_a_view_by_its_folder(dataset: tuple[Path, DatasetManifest], view: str, reader: str) -> None:
    folder, manifest = dataset
    assert set(manifest.rows()) == set(VIEWS)
    rows = sum(manifest.rows()[view].values())
    assert sorted(READERS[reader](folder / view)) == sorted(base.load(view).schema.names * rows)


def test_duckdb_reads_every_view_by_its_folder(dataset: tuple[Path, DatasetManifest]) -> None:
    folder, manifest = dataset
    expected = {view: (base.load(view).schema.names, sum(manifest.rows()[view].values())) for view in VIEWS}
    assert duckdb_rows.read_tables(folder / view for view in VIEWS) == expected


def test_code_is_in_its_own_folder(dataset: tuple[Path, DatasetManifest]) -> None:
    folder, manifest = dataset
    for view in VIEWS:
        assert {path.suffix for path in (folder / view).iterdir()} == {".parquet"}
    code_files = {path.name for path in (folder / "code").iterdir()}
    assert code_files == {"reward.py", "verl_sft.py", "taskset.py", "dataset_info.json"}
    listed_files = {file.path for file in (*manifest.files, *manifest.shards)} | {"manifest.json"}
    assert listed_files == {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_llama_factory_finds_the_rows_from_the_code_folder(dataset: tuple[Path, DatasetManifest]) -> None:
    """Call `load_dataset` like its loader: with the folder, subset and split of the file."""
    folder, manifest = dataset
    for entry in orjson.loads((folder / "code/dataset_info.json").read_bytes()).values():
        where = os.path.join(folder / "code", entry["script_url"])  # noqa: PTH118 - its own words
        rows = datasets.load_dataset(where, entry["subset"], split=entry["split"], cache_dir=str(folder.parent / "lf"))
        assert len(rows) == manifest.rows()["sft_sharegpt"][entry["split"]]


def test_the_readme_s_training_skips_untrainable_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "dataset"
    export(
        [accepted(n, model="qwen" if n % 2 else "embedded") for n in range(6)], folder, Selection(config=RunConfig())
    )
    trained: list[bool] = []

    def trainer(*, train_dataset: datasets.Dataset, **_: object) -> SimpleNamespace:
        return SimpleNamespace(train=lambda: trained.extend(train_dataset["trainable"]))

    monkeypatch.setitem(sys.modules, "trl", SimpleNamespace(SFTConfig=dict, SFTTrainer=trainer))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hub")
    monkeypatch.chdir(tmp_path)
    snippet = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    exec(snippet.replace("outputs/wiki/latest/dataset", str(folder)), {})
    assert trained == [True] * 3


@pytest.mark.parametrize("sides", [("train", "train"), ("train", "eval")])
def test_a_view_without_validation_rows_can_be_trained_on(tmp_path: Path, sides: tuple[Side, Side]) -> None:
    """The card says so, and verl's recipe passes the training rows as validation file, which verl requires."""
    folder = tmp_path / "dataset"
    export([taught(n, side=side, model="qwen") for n, side in enumerate(sides)], folder, Selection(config=RunConfig()))
    # The trainer's settings are printed, and the tools are written.
    (tmp_path / "python").write_text(f'#!/bin/sh\n[ "$1" = -m ] || exec {sys.executable} "$@"\nprintf "%s\\n" "$@"\n')
    (tmp_path / "python").chmod(0o755)
    command = ["sh", str(ROOT / "recipes/verl/train.sh"), str(folder), "model"]
    tools = tmp_path / "tools.json"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TOOLS": str(tools)}
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    options = dict(line.split("=", 1) for line in process.stdout.splitlines() if "=" in line)
    train, val = options["data.train_files"], options["data.val_files"]
    assert train == f"[{folder}/rl_verl_tool/train-00000-of-00001.parquet]"
    assert (folder / "code/reward.py").samefile(options["reward.custom_reward_function.path"])
    assert options["actor_rollout_ref.rollout.multi_turn.tool_config_path"] == str(tools)
    written = [tool["tool_schema"]["function"]["name"] for tool in json.loads(tools.read_text())["tools"]]
    assert written == ["search", "open", "answer"]
    assert (ROOT / options["actor_rollout_ref.rollout.agent.agent_loop_config_path"]).is_file()
    missing = "eval" not in sides
    assert val == (train if missing else train.replace("train-", "eval-"))
    assert (options.get("trainer.test_freq"), options.get("trainer.val_before_train")) == (
        ("-1", "false") if missing else (None, None)
    )
    assert ("no row to validate with" in process.stderr) == missing
    card = " ".join((folder / "README.md").read_text().split())
    assert ("trainer.val_before_train=false trainer.test_freq=-1" in card) == missing
    assert ("**No row to validate with** in" in card) == missing
