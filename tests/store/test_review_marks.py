"""Review marks survive a kill, a torn line, several reviewers at once, and a change of mind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.store import review_marks
from pipeline.store.review_marks import Mark
from pipeline.types import sha256

KEY = sha256("pair")


def make_mark(reviewer: str = "Ada", key: str = KEY, **answers: bool | None) -> Mark:
    return Mark(key=key, reviewer=reviewer, at=review_marks.now(), **answers)  # type: ignore[arg-type]


def test_the_latest_mark_of_each_reviewer_counts_and_the_file_keeps_all(tmp_path: Path) -> None:
    for entry in (make_mark(right=True), make_mark("Ben", right=True), make_mark(right=False), make_mark(right=False)):
        review_marks.add(tmp_path, [entry])
    latest = review_marks.read(tmp_path)
    assert {name: entry.right for (_, name), entry in latest.items()} == {"Ada": False, "Ben": True}
    assert len((tmp_path / review_marks.NAME).read_bytes().splitlines()) == 3


def test_a_mark_can_be_taken_back(tmp_path: Path) -> None:
    review_marks.add(tmp_path, [make_mark()])
    assert (tmp_path / review_marks.NAME).read_bytes() == b""
    review_marks.add(tmp_path, [make_mark(right=True)])
    review_marks.add(tmp_path, [make_mark()])
    assert review_marks.read(tmp_path)[KEY, "Ada"].right is None


@pytest.mark.parametrize("harm", [b'{"key":', b"\xff\n", b"[]\n"])
def test_a_damaged_line_affects_no_other_mark(tmp_path: Path, harm: bytes) -> None:
    review_marks.add(tmp_path, [make_mark(right=True)])
    with (tmp_path / review_marks.NAME).open("ab") as file:
        file.write(harm)
    review_marks.add(tmp_path, [make_mark("Ben", right=True)])
    assert len(review_marks.read(tmp_path)) == 2


WRITER = """
import sys
from pathlib import Path
from pipeline.store import review_marks
for number in range(int(sys.argv[3])):
    review_marks.add(Path(sys.argv[1]), [review_marks.Mark(key=f"{number}", reviewer=sys.argv[2], right=True, at="")])
    print(number, flush=True)
"""


def start_writer(folder: Path, name: str, number: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", WRITER, str(folder), name, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_concurrent_reviewers_lose_no_mark(tmp_path: Path) -> None:
    running = [start_writer(tmp_path, name, 25) for name in ("Ada", "Ben", "Cleo")]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(review_marks.read(tmp_path)) == 75


def test_marks_made_before_a_kill_are_kept(tmp_path: Path) -> None:
    running = start_writer(tmp_path, "Ada", 10_000)
    assert running.stdout
    for _ in range(20):
        last = int(running.stdout.readline())
    time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert len(review_marks.read(tmp_path)) > last
    review_marks.add(tmp_path, [make_mark(right=True)])
    assert review_marks.read(tmp_path)[KEY, "Ada"].right


def test_a_name_is_one_short_line(tmp_path: Path) -> None:
    assert review_marks.clean_reviewer_name("  Ada\x1b[31m\n Lovelace ") == "Ada Lovelace"
    assert len(review_marks.clean_reviewer_name("x" * 500)) == 60
    with pytest.raises(UsageError, match="needs a name"):
        review_marks.clean_reviewer_name(" \n")
