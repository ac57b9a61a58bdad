"""No link inside an output folder leads a write or a deletion outside."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.errors import DigsiteError, UsageError
from pipeline.run.locate import run_folder
from pipeline.store import databases, files, review_marks
from pipeline.store.cache import Cache
from pipeline.store.lock import hold_lock
from pipeline.store.lock_files import open_private
from pipeline.store.private_folder import make_private
from pipeline.store.real_paths import real_root
from pipeline.store.rows import row_file
from tests.cli.conftest import SMALL, exit_code
from tests.run_files import read_files as bytes_below

MARK = review_marks.Mark(key="a", reviewer="Ada", right=True, at="")


def append_line(path: Path) -> None:
    files.Appender(path).append(b"line")


def grow(path: Path) -> None:
    with files.growing_folder(path, wait=False) as install:
        files.empty_folder(path)
        install(path.with_name("final"))


def replace(path: Path) -> None:
    with files.atomic_folder(path) as building:
        (building / "new").touch()


def enter(context: Callable[..., object]) -> Callable[[Path], None]:
    def within(path: Path) -> None:
        with context(path):  # type: ignore[attr-defined]
            pass

    return within


def take_over(path: Path) -> None:
    source = path.parents[1] / "source"
    source.write_bytes(b"source")
    files.link_or_copy(source, path)


WRITERS: dict[str, Callable[[Path], object]] = {
    "append": append_line,
    "atomic_write": lambda path: files.atomic_write(path, b"new"),
    "take_over": take_over,
    "row_file": enter(lambda path: row_file(path, b"head", 1, 1)),
    "lock": lambda path: enter(hold_lock)(path.parent),
    "private": lambda path: open_private(path, "line"),
    "cache": Cache,
    "database": lambda path: databases.open_database(path, "CREATE TABLE a (b)"),
    "marks": lambda path: review_marks.add(path.parent, [MARK]),
    "growing_folder": grow,
    "atomic_folder": replace,
    "emptied": files.empty_folder,
    "make_private": make_private,
    "remove": files.remove,
    "discard": lambda path: files.discard_unfinished(path.parent, "*"),
    "sweep": lambda path: files.sweep(path.parent),
}
NAMES = {"lock": ".lock", "marks": review_marks.NAME, "discard": "x.incomplete", "sweep": "x.old"}


def make_outside_folder(tmp_path: Path) -> Path:
    """Make a folder of files that must never change: text without a line end, and a database."""
    folder = tmp_path / "elsewhere"
    (folder / "sub").mkdir(parents=True)
    for name in ("file", "sub/file", "sub/.lock", "sub/x", f"sub/{review_marks.NAME}"):
        (folder / name).write_bytes(b"torn")
    with sqlite3.connect(folder / "database") as database:
        database.execute("CREATE TABLE mine (a)")
    (folder / "sub/x.incomplete").mkdir()
    (folder / "sub/x.incomplete/file").touch()
    return folder


@pytest.mark.parametrize("target", ["file", "database", "sub", "missing"])
@pytest.mark.parametrize("name", WRITERS)
def test_the_target_of_a_link_is_never_changed(tmp_path: Path, name: str, target: str) -> None:
    outside, out_folder = make_outside_folder(tmp_path), tmp_path / "out"
    out_folder.mkdir()
    path = out_folder / NAMES.get(name, "x")
    path.symlink_to(outside / target)
    before = bytes_below(outside)
    with suppress(DigsiteError):
        WRITERS[name](path)
    assert bytes_below(outside) == before


@pytest.mark.parametrize("name", sorted(set(WRITERS) - {"discard"}))
def test_nothing_is_written_or_deleted_behind_a_link_to_a_folder(tmp_path: Path, name: str) -> None:
    outside, out_folder = make_outside_folder(tmp_path), tmp_path / "out"
    out_folder.mkdir()
    (out_folder / "folder").symlink_to(outside / "sub")
    before = bytes_below(outside)
    with suppress(DigsiteError):
        WRITERS[name](out_folder / "folder" / NAMES.get(name, "x"))
    assert bytes_below(outside) == before


@pytest.mark.parametrize("name", ["append", "row_file", "lock", "private", "cache", "database", "marks"])
def test_a_hard_link_is_refused(tmp_path: Path, name: str) -> None:
    outside, out_folder = make_outside_folder(tmp_path), tmp_path / "out"
    out_folder.mkdir()
    path = out_folder / NAMES.get(name, "x")
    path.hardlink_to(outside / ("database" if name in ("cache", "database") else "file"))
    before = bytes_below(outside)
    with pytest.raises(UsageError, match="is a hard link"):
        WRITERS[name](path)
    assert bytes_below(outside) == before


def test_an_output_folder_may_be_a_link_itself(tmp_path: Path) -> None:
    (tmp_path / "disk/out").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    assert real_root(tmp_path / "link/out") == tmp_path / "disk/out"
    assert real_root(tmp_path / "disk/out") == tmp_path / "disk/out"
    assert real_root(tmp_path / "link/../plain") == tmp_path / "plain"


@pytest.mark.parametrize("location", ["tiny", "tiny/RUN", "tiny/RUN/journal", "tiny/RUN/journal/main.jsonl",
                                   "tiny/RUN/dataset", "tiny/RUN/attempts.jsonl", "tiny/RUN/.lock"])  # fmt: skip
def test_a_run_behind_a_link_is_refused_in_one_line(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], location: str
) -> None:
    out_folder, outside = shutil.copytree(out, tmp_path / "out", symlinks=True), tmp_path / "elsewhere"
    path = out_folder / location.replace("RUN", (out_folder / "tiny/latest").readlink().name)
    path.rename(outside)
    path.symlink_to(outside)
    before = bytes_below(tmp_path)
    assert exit_code("generate", "tiny", *SMALL, "--seeds", "9", "--out", out_folder) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("digsite: ")]
    assert lines == [f"digsite: {path} is a symbolic link, and nothing is written through one; remove it and repeat"]
    assert bytes_below(tmp_path) == before


def test_links_among_leftovers_are_deleted_and_not_followed(out: Path, tmp_path: Path) -> None:
    """Run all writers in an output folder that is a link itself."""
    disk, outside = shutil.copytree(out, tmp_path / "disk", symlinks=True), make_outside_folder(tmp_path)
    run = disk / "tiny" / (disk / "tiny/latest").readlink()
    leftovers = [run / name for name in ("x.incomplete", "dataset.incomplete", "y.old", "dataset.old", ".z.tmp")]
    leftovers += [run / name for name in ("report.html", "result.json", "journal.old")]
    for path in leftovers:
        path.unlink(missing_ok=True)
        path.symlink_to(outside / "sub")
    (tmp_path / "link").symlink_to(disk)
    before = bytes_below(outside)
    assert exit_code("generate", "tiny", *SMALL, "--seeds", "9", "--out", tmp_path / "link") == 0
    assert exit_code("report", "tiny/latest", "--out", tmp_path / "link") == 0
    assert bytes_below(outside) == before
    assert not [path for path in run.rglob("*") if path.is_symlink()]
    assert (disk / "tiny/latest").is_symlink()
    assert run_folder("tiny/latest", tmp_path / "link") == run
