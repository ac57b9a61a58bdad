"""Only one process works on a run."""

import errno
import fcntl
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.store import lock
from pipeline.store.lock import hold_lock, local_lock_option

_HOLD = "import sys, time; from pathlib import Path; from pipeline.store.lock import hold_lock\n"
_HOLD += "with hold_lock(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"


def test_a_second_process_is_refused_and_a_dead_one_releases_the_lock(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", _HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        started = time.monotonic()
        with pytest.raises(StoreError, match=rf"pid {holder.pid} on {socket.gethostname()}\)"), hold_lock(tmp_path):
            pass
        assert time.monotonic() - started < 1
    finally:
        holder.kill()
        holder.wait()
    with hold_lock(tmp_path):
        pass


def test_a_folder_is_locked_once_within_a_process_too(tmp_path: Path) -> None:
    with hold_lock(tmp_path), pytest.raises(StoreError), hold_lock(tmp_path):
        pass


def test_a_folder_made_only_for_the_lock_is_removed_with_it(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "a/b"):
        pass
    assert list(tmp_path.iterdir()) == []
    with hold_lock(tmp_path / "a/b"):
        (tmp_path / "a/c").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "c"]
    with hold_lock(tmp_path / "a/b"):
        (tmp_path / "a/b/run.json").touch()
    assert sorted(path.name for path in (tmp_path / "a/b").iterdir()) == [".lock", "run.json"]


def test_never_two_threads_hold_the_lock(tmp_path: Path) -> None:
    holders, max_holders, lock_count = 0, 0, 0
    deadline = time.monotonic() + 1.5

    def work() -> None:
        nonlocal holders, max_holders, lock_count
        while time.monotonic() < deadline:
            with suppress(StoreError), hold_lock(tmp_path / "run"):
                holders += 1
                max_holders, lock_count = max(max_holders, holders), lock_count + 1
                time.sleep(0.0001)
                holders -= 1

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert (max_holders, holders) == (1, 0)
    assert lock_count > 5


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def raise_error(handle: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", raise_error)
    message = rf"without working locks \({os.strerror(number)}\).*; mount it with flock, or name an --out"
    with pytest.raises(StoreError, match=message), hold_lock(tmp_path / "run"):
        pass


def test_locks_that_do_not_exclude_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda handle, how: None)
    with pytest.raises(StoreError, match="a lock that is held was given again"), hold_lock(tmp_path / "run"):
        pass


_MOUNTS = """/dev/sda1 / ext4 rw,relatime 0 0
nas:/a /data nfs4 rw,vers=4.2,hard 0 0
nas:/b /data/old nfs rw,vers=3,local_lock=all,addr=10.0.0.1 0 0
nas:/c /scratch lustre rw,localflock 0 0
"""


@pytest.mark.parametrize(
    ("folder", "option"),
    [("/home/x", ""), ("/data/x", ""), ("/data/old/x/y", "local_lock=all"), ("/scratch", "localflock")],
)
def test_locks_invisible_to_other_machines_are_recognized_by_the_mount(folder: str, option: str) -> None:
    assert local_lock_option(Path(folder), _MOUNTS) == option


def test_locks_invisible_to_other_machines_are_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lock, "_read_mounts", lambda: f"nas:/b {tmp_path} nfs rw,nolock 0 0\n")
    with caplog.at_level(logging.WARNING), hold_lock(tmp_path / "run"):
        pass
    assert "locks of this file system end at this machine (nolock)" in caplog.text
