"""An export that would remove what a trainer may be reading is refused; with `allow_removal` it says what is gone."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.config import RunConfig, build
from pipeline.errors import UsageError
from pipeline.exports.data_set import DatasetManifest, Selection, export, read_manifest
from pipeline.exports.views import base
from tests.records import batch
from tests.run_files import read_files


def write(folder: Path, count: int = 16, **fields: Any) -> DatasetManifest:
    return export(batch(count), folder, Selection(**{"config": RunConfig(), **fields}))


YES_NO_LISTS = build(values={"gates": {"policy": "mine"}})
"""A policy that nothing was measured for, so that no `rl_*` view has a row."""


def test_views_that_would_go_are_named_and_stay(tmp_path: Path) -> None:
    write(tmp_path / "ds")
    before = read_files(tmp_path / "ds")
    with pytest.raises(
        UsageError, match=r"would remove rl_openrlhf, rl_search_r1, rl_trl, rl_verifiers, rl_verl_tool "
    ):
        write(tmp_path / "ds", config=YES_NO_LISTS)
    assert read_files(tmp_path / "ds") == before


def test_what_goes_with_leave_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "ds", 32)
    manifest = write(tmp_path / "ds", 16, config=YES_NO_LISTS, allow_removal=True)
    assert manifest.removed == ("rl_openrlhf", "rl_search_r1", "rl_trl", "rl_verifiers", "rl_verl_tool")
    assert manifest.fewer > 0
    assert f"{tmp_path / 'ds'}: {manifest.fewer:,} pairs fewer than before" in caplog.text
    assert "removed: rl_openrlhf, " in caplog.text
    lack = f"{manifest.pairs} not measured (digsite remeasure); for RL: digsite generate CORPUS --for NAME"
    assert lack in manifest.rewards.describe_lack()
    assert f"There is no `rl_*` view: {lack}" in (tmp_path / "ds/README.md").read_text()
    assert write(tmp_path / "other", 16, config=YES_NO_LISTS).shards == manifest.shards
    assert (tmp_path / "other/README.md").read_bytes() == (tmp_path / "ds/README.md").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["mine/sorted.parquet", "sft/sorted.parquet", "notes.txt", "code/mine.py"])
def test_a_persons_own_files_are_not_deleted(tmp_path: Path, path: str) -> None:
    write(tmp_path / "ds")
    file = tmp_path / "ds" / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    with pytest.raises(UsageError, match=f"would remove {path if path[0] != 'm' else 'mine'} from"):
        write(tmp_path / "ds")
    assert file.read_text() == "mine"
    assert write(tmp_path / "ds", allow_removal=True).removed


def test_files_that_python_and_other_shards_leave_do_not_count(tmp_path: Path) -> None:
    write(tmp_path / "ds", shard_bytes=1 << 14)
    (tmp_path / "ds/code/__pycache__").mkdir()
    (tmp_path / "ds/code/__pycache__/reward.cpython-311.pyc").touch()
    (tmp_path / "ds/.DS_Store").touch()
    manifest = write(tmp_path / "ds", 32)
    assert (manifest.removed, manifest.fewer) == ((), 0)
    assert "removed" not in (tmp_path / "ds/manifest.json").read_text()


def test_a_stricter_licence_needs_no_leave(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "ds")
    manifest = write(tmp_path / "ds", redistribute="spans")
    assert "sft" in manifest.removed
    assert all(base.exceeds_licence(base.load(name), "spans") for name in manifest.removed)
    assert "removed: " in caplog.text


@pytest.mark.slow
def test_a_damaged_manifest_does_not_keep_the_data_set_from_being_written(tmp_path: Path) -> None:
    write(tmp_path / "ds")
    (tmp_path / "ds/manifest.json").write_text("{")
    assert write(tmp_path / "ds") == read_manifest(tmp_path / "ds")
