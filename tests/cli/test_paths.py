"""Paths work from any folder, and never leave the machine with the data."""

import shutil
from pathlib import Path

import pytest

from pipeline.corpus import resolve
from pipeline.view.browsing import Runs
from tests.cli.conftest import SMALL, Digsite


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change into a folder with a corpus in it."""
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(resolve("tiny").path, folder / "mine.jsonl")
    monkeypatch.chdir(folder)
    return folder


def test_no_path_or_address_leaves_with_the_data(digsite: Digsite, working_folder: Path, tmp_path: Path) -> None:
    benchmark = working_folder / "known.txt"
    benchmark.write_text("Who designed the lighthouse?\n")
    where = ("--out", tmp_path / "out", "--set", 'models.default.base_url="http://secret-host:1/v1"')
    generated = digsite(
        "generate", working_folder / "mine.jsonl", *SMALL, "--seeds", "4", "--against", benchmark, *where, "--json"
    )
    files = [path for path in Path(generated.json["dataset"]).rglob("*") if path.is_file()]
    for path in (Path(generated.json["report"]), *files):
        assert str(tmp_path).encode() not in path.read_bytes(), path
        assert b"secret-host" not in path.read_bytes(), path
    for name in ("report.html", "dataset/README.md"):
        assert "known.txt" in (Path(generated.json["run"]) / name).read_text()


@pytest.mark.parametrize("command", ["generate tiny", "search tiny bridge", "inspect latest", "doctor"])
def test_a_file_is_refused_as_output_folder(digsite: Digsite, working_folder: Path, command: str) -> None:
    output = digsite(*command.split(), "--out", "mine.jsonl")
    assert (output.code, output.out, output.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("where", [("--out", "mine.jsonl/runs"), ("--set", "runtime.out=mine.jsonl")])
def test_a_path_through_a_file_is_refused_as_output_folder(
    digsite: Digsite, working_folder: Path, where: tuple[str, str]
) -> None:
    output = digsite("generate", "tiny", *SMALL, *where)
    assert (output.code, output.out) == (2, "")
    assert "choose another --out" in output.err.splitlines()[-1]


def test_a_run_over_a_relative_path_resumes_from_another_folder(
    digsite: Digsite, working_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    generated = digsite("generate", "./mine.jsonl", *SMALL, "--seeds", "4", "--out", out, "--json").json
    monkeypatch.chdir(tmp_path)
    assert digsite("resume", "mine", "--out", out, "--json").json == generated
    # The same run, however its corpus is named, and wherever that lies.
    moved = working_folder.rename(tmp_path / "there")
    assert digsite("generate", moved / "mine.jsonl", *SMALL, "--seeds", "4", "--out", out, "--json").json == generated


@pytest.mark.slow
@pytest.mark.parametrize("name", ["[a]*", "{a,ab}"])
def test_folder_names_are_never_read_as_patterns(
    digsite: Digsite, name: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside another folder that the pattern would find, with a run of another size."""
    shutil.copytree(out, tmp_path / "ab")
    # `view` writes its own files where temporary files go.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / name))
    generated = digsite("generate", "tiny", *SMALL, "--seeds", "4", "--out", tmp_path / name, "--json").json
    assert digsite("resume", "tiny", "--out", tmp_path / name, "--json").json == generated
    assert digsite("export", "tiny", "--out", tmp_path / name, "--view", "qa", "--json").code == 0
    folder = Path(generated["run"])
    shutil.rmtree(folder / "dataset")
    runs = Runs(["tiny"], tmp_path / name)
    source = runs.open_named()[0]
    frame = source.whole().frame.collect()
    assert (frame.height, (frame["status"] == "accepted").sum()) == (generated["planned"], generated["accepted"])
    attempts = source.attempts()
    assert attempts is not None
    assert attempts.collect().height == 4
    runs.close()
