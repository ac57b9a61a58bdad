"""A run is found by any of its names, and a wrong name lists the valid ones."""

import os
from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.run.locate import quote_run, run_folder, runs


@pytest.fixture
def out(tmp_path: Path) -> Path:
    for age, name in enumerate(["wiki/aaaa11112222", "wiki/bbbb11112222", "notes/cccc11112222"]):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
        (folder / "dataset").mkdir()
        os.utime(folder / "run.json", (1000 + age, 1000 + age))
    (tmp_path / "wiki/latest").symlink_to("aaaa11112222")
    (tmp_path / "notes/latest").symlink_to("cccc11112222")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("latest", "notes/cccc11112222"),
        ("wiki", "wiki/aaaa11112222"),
        ("wiki/latest", "wiki/aaaa11112222"),
        ("wiki/bbbb11112222", "wiki/bbbb11112222"),
        ("bbbb1", "wiki/bbbb11112222"),
        ("bbbb1/", "wiki/bbbb11112222"),
        ("latest/", "notes/cccc11112222"),
        ("wiki/", "wiki/aaaa11112222"),
        ("wiki/latest/", "wiki/aaaa11112222"),
        ("wiki/latest/dataset", "wiki/aaaa11112222"),
        ("wiki/bbbb11112222/run.json", "wiki/bbbb11112222"),
    ],
)
def test_every_name_of_a_run_finds_it(out: Path, name: str, target: str) -> None:
    assert run_folder(name, out) == (out / target).resolve()


def test_a_path_finds_the_run_for_any_out(out: Path, tmp_path: Path) -> None:
    assert run_folder(str(out / "wiki/latest"), tmp_path / "elsewhere") == (out / "wiki/aaaa11112222").resolve()


@pytest.mark.parametrize("name", ["latest", "latest/", "./latest", "latest/dataset", "latest/run.json", "aaaa11112222"])
def test_a_path_finds_the_run_from_the_folder_of_its_corpus(
    out: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(out / "wiki")
    assert run_folder(name) == (out / "wiki/aaaa11112222").resolve()


def test_a_run_is_found_from_inside_its_folder(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(out / "wiki/bbbb11112222/dataset")
    assert run_folder(".") == run_folder("..") == (out / "wiki/bbbb11112222").resolve()


@pytest.mark.parametrize("name", ["wiki/latest/nosuch", "notes/dddd", "", "nosuch/", "latest/nosuch"])
def test_a_missing_folder_is_no_run(out: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(out)
    with pytest.raises(UsageError, match=r"no run '.*there are: "):
        run_folder(name, out)


def test_an_unknown_run_names_the_known_ones(out: Path) -> None:
    with pytest.raises(UsageError, match=r"no run 'zzzz'.*notes/cccc11112222"):
        run_folder("zzzz", out)


def test_without_runs_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="digsite generate wiki"):
        run_folder("latest", tmp_path)


def test_links_are_not_listed_as_runs(out: Path) -> None:
    assert [path.name[:4] for path in runs(out)] == ["aaaa", "bbbb", "cccc"]


def test_the_newest_run_is_latest_if_the_link_is_broken(out: Path) -> None:
    (out / "notes/latest").unlink()
    (out / "wiki/latest").unlink()
    (out / "wiki/latest").symlink_to("gone")
    assert run_folder("latest", out) == (out / "notes/cccc11112222").resolve()


def test_a_wrong_name_is_never_suggested_for_itself(out: Path) -> None:
    (out / "wiki/latest").unlink()
    (out / "wiki/latest").symlink_to("gone")
    with pytest.raises(UsageError, match="no run 'wiki'; ") as refused:
        run_folder("wiki", out)
    assert "did you mean 'wiki'" not in str(refused.value)


def test_the_next_command_names_the_folder_only_if_it_is_unusual(out: Path) -> None:
    assert quote_run("wiki", Path("outputs").absolute()) == quote_run("wiki", None) == "wiki"
    assert quote_run("wiki", out) == f"wiki --out {out}"
