"""Where corpus, benchmarks and output lie on a machine: found again from anywhere, and told to nobody."""

import shutil
from pathlib import Path

import pytest

from pipeline.corpus import resolve
from tests.cli.conftest import SMALL, Digsite


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, with a corpus in it."""
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(resolve("tiny").path, folder / "mine.jsonl")
    monkeypatch.chdir(folder)
    return folder


def test_a_run_over_a_relative_path_goes_on_from_another_folder(
    digsite: Digsite, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    made = digsite("generate", "./mine.jsonl", *SMALL, "--seeds", "4", "--out", out, "--json").json
    monkeypatch.chdir(tmp_path)
    assert digsite("resume", "mine", "--out", out, "--json").json == made
    # The same run, however its corpus is named, and wherever that lies.
    moved = here.rename(tmp_path / "there")
    assert digsite("generate", moved / "mine.jsonl", *SMALL, "--seeds", "4", "--out", out, "--json").json == made
