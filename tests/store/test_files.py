"""Files are written completely or not at all, whatever fails."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.store import files
from tests.rules.source import ROOT


def fail_after(monkeypatch: pytest.MonkeyPatch, name: str, calls: int, error: BaseException) -> None:
    """Let `os.<name>` work so many times and then raise."""
    real, remaining = getattr(os, name), [calls]

    def flaky(*args: object) -> object:
        if remaining[0] == 0:
            raise error
        remaining[0] -= 1
        return real(*args)

    monkeypatch.setattr(os, name, flaky)


def test_a_write_replaces_the_file_completely(tmp_path: Path) -> None:
    files.atomic_write(tmp_path / "a" / "x", b"long old content")
    files.atomic_write(tmp_path / "a" / "x", b"new")
    assert (tmp_path / "a" / "x").read_bytes() == b"new"
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["x"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException
) -> None:
    files.atomic_write(tmp_path / "x", b"old")
    fail_after(monkeypatch, name, 0, error)
    with pytest.raises((StoreError, KeyboardInterrupt)) as caught:
        files.atomic_write(tmp_path / "x", b"new")
    if isinstance(error, OSError):
        assert "disk full" in str(caught.value)
        assert str(tmp_path / "x") in str(caught.value)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("x", b"old")]


def test_equal_json_is_equal_bytes(tmp_path: Path) -> None:
    files.write_json(tmp_path / "a", {"b": 1, "a": "ö"})
    files.write_json(tmp_path / "b", {"a": "ö", "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_folder_is_replaced_completely(tmp_path: Path) -> None:
    for content in ("one", "two"):
        with files.atomic_folder(tmp_path / "set") as building:
            (building / "sub").mkdir()
            (building / "sub" / content).write_text(content)
            assert content == "one" or (tmp_path / "set" / "sub" / "one").exists()
    assert [p.name for p in tmp_path.rglob("*")] == ["set", "sub", "two"]


def test_a_failed_build_leaves_the_old_folder(tmp_path: Path) -> None:
    with files.atomic_folder(tmp_path / "set") as building:
        (building / "old").write_text("")

    def build() -> None:
        with files.atomic_folder(tmp_path / "set") as building:
            (building / "new").write_text("")
            raise OSError(errno.ENOSPC, "no space")

    with pytest.raises(StoreError, match="disk full"):
        build()
    assert [p.name for p in tmp_path.rglob("*")] == ["set", "old"]


def test_two_builders_of_one_folder_do_not_mix_files(tmp_path: Path) -> None:
    with (
        files.atomic_folder(tmp_path / "set"),
        pytest.raises(StoreError, match="another process is building"),
        files.atomic_folder(tmp_path / "set"),
    ):
        pass
    assert (tmp_path / "set").is_dir()


KILLED = """
import os, sys
from pathlib import Path
from pipeline.store import files
from tests.chaos import wrapped

def work(root):
    root.mkdir()
    for n in "12":
        files.atomic_write(root / "file", n.encode() * 9)
        with files.atomic_folder(root / "set") as building:
            files.atomic_write(building / n, b"")

def ended(root, point):
    child = os.fork()
    if not child:
        wrapped.kill(point)
        work(root)
        os._exit(0)
    return os.waitpid(child, 0)[1]

for operation in wrapped.OPERATIONS:
    number = 1
    while ended(Path(sys.argv[1], f"{operation} {number}"), f"{operation}:{number}") == 9:
        number += 1
"""


def test_a_kill_leaves_the_old_or_new_files_and_the_sweep_removes_the_rest(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, check=True)
    states = set()
    for root in tmp_path.iterdir():
        files.sweep(root)
        assert not {path.name for path in root.iterdir()} - {"file", "set"}
        file, folder = root / "file", root / "set"
        content = file.read_bytes() if file.exists() else b""
        states.add((content, *(path.name for path in folder.iterdir())) if folder.exists() else (content,))
    first, second = b"1" * 9, b"2" * 9
    # The first kills leave nothing, and the last one leaves everything.
    assert states == {(b"",), (first,), (first, "1"), (second, "1"), (second, "2")}


def test_a_link_is_moved_and_never_replaces_a_folder(tmp_path: Path) -> None:
    files.link(tmp_path / "latest", "one")
    files.link(tmp_path / "latest", "two")
    assert (tmp_path / "latest").readlink() == Path("two")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="in the way"):
        files.link(tmp_path / "folder", "two")


def test_opening_a_torn_file_cuts_it_to_its_lines(tmp_path: Path) -> None:
    intact = b"a" * 70_000 + b"\n" + b"b\n"
    for end in (*range(69_990, len(intact)), 0, 1):
        (tmp_path / "x").write_bytes(intact[:end])
        appender = files.Appender(tmp_path / "x")
        appender.append(b"c")
        appender.close()
        assert (tmp_path / "x").read_bytes() == intact[: intact[:end].rfind(b"\n") + 1] + b"c\n"


@pytest.mark.parametrize("name", ["write", "fsync"])
def test_a_failed_append_is_rolled_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    appender = files.Appender(tmp_path / "x")
    appender.append(b"one")
    with monkeypatch.context() as patch:
        fail_after(patch, name, 0, OSError(errno.ENOSPC, "no space"))
        with pytest.raises(StoreError, match="disk full"):
            appender.append(b"two")
    appender.append(b"three")
    assert (tmp_path / "x").read_bytes() == b"one\nthree\n"


def test_a_short_write_is_rolled_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    appender = files.Appender(tmp_path / "x")
    appender.append(b"one")
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:2]))
    with pytest.raises(StoreError, match="disk full"):
        appender.append(b"two")
    assert (tmp_path / "x").read_bytes() == b"one\n"


def test_a_file_that_was_removed_or_replaced_takes_no_more_lines(tmp_path: Path) -> None:
    appender = files.Appender(tmp_path / "run" / "x")
    appender.append(b"one")
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="x: No such file"):
        appender.append(b"two")
    files.Appender(tmp_path / "run" / "x").append(b"another's")
    with pytest.raises(StoreError, match="was replaced by another file"):
        appender.append(b"two")
    assert (tmp_path / "elsewhere" / "x").read_bytes() == b"one\n"
