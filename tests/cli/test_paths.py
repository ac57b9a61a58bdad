"""Where corpus, benchmarks and output lie on a machine: found again from anywhere, and told to nobody."""

import shutil
from pathlib import Path

import pytest

from pipeline.corpus import resolve
from pipeline.view.browsing import Runs
from tests.cli.conftest import SMALL, Digsite


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, with a corpus in it."""
    folder = tmp_path / "here"
    folder.mkdir()
    shutil.copy(resolve("tiny").path, folder / "mine.jsonl")
    monkeypatch.chdir(folder)
    return folder


def test_no_path_or_address_goes_out_with_the_data(digsite: Digsite, here: Path, tmp_path: Path) -> None:
    benchmark = here / "known.txt"
    benchmark.write_text("Who designed the lighthouse?\n")
    where = ("--out", tmp_path / "out", "--set", 'models.default.base_url="http://secret-host:1/v1"')
    made = digsite("generate", here / "mine.jsonl", *SMALL, "--seeds", "4", "--against", benchmark, *where, "--json")
    passed_on = [path for path in Path(made.json["dataset"]).rglob("*") if path.is_file()]
    for path in (Path(made.json["report"]), *passed_on):
        assert str(tmp_path).encode() not in path.read_bytes(), path
        assert b"secret-host" not in path.read_bytes(), path
    for name in ("report.html", "dataset/README.md"):
        assert "known.txt" in (Path(made.json["run"]) / name).read_text()


@pytest.mark.parametrize("command", ["generate tiny", "search tiny bridge", "inspect latest", "doctor"])
def test_a_file_is_no_place_for_runs(digsite: Digsite, here: Path, command: str) -> None:
    said = digsite(*command.split(), "--out", "mine.jsonl")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("where", [("--out", "mine.jsonl/runs"), ("--set", "runtime.out=mine.jsonl")])
def test_nor_is_a_path_through_one(digsite: Digsite, here: Path, where: tuple[str, str]) -> None:
    said = digsite("generate", "tiny", *SMALL, *where)
    assert (said.code, said.out) == (2, "")
    assert "name another --out" in said.err.splitlines()[-1]


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


@pytest.mark.parametrize("name", ["[a]*", "{a,ab}"])
def test_no_name_of_a_folder_is_a_pattern(
    digsite: Digsite, name: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside another folder that the pattern would find, with a run of another size."""
    shutil.copytree(out, tmp_path / "ab")
    # What `view` makes for itself goes where temporary files go.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / name))
    made = digsite("generate", "tiny", *SMALL, "--seeds", "4", "--out", tmp_path / name, "--json").json
    assert digsite("resume", "tiny", "--out", tmp_path / name, "--json").json == made
    assert digsite("export", "tiny", "--out", tmp_path / name, "--view", "qa", "--json").code == 0
    folder = Path(made["run"])
    shutil.rmtree(folder / "dataset")
    runs = Runs(["tiny"], tmp_path / name)
    source = runs.open_named()[0]
    found = source.whole().frame.collect()
    assert (found.height, (found["status"] == "accepted").sum()) == (made["planned"], made["accepted"])
    attempts = source.attempts()
    assert attempts is not None
    assert attempts.collect().height == 4
    runs.close()
