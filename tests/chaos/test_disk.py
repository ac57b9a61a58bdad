"""A full disk at any write stops the run in one line with an intact journal, and the run resumes later."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.run import Run
from tests.run.fakes import RunCallbacks, config, corpus, make_run_seed
from tests.run_files import read_journal

SEEDS = 4


class Disk:
    """A disk on which `os.write` and `os.fsync` work `remaining` times; then it is full, or takes part of a write."""

    def __init__(self, remaining: int, part: int = -1) -> None:
        self.remaining, self.part = remaining, part
        self.write, self.fsync = os.write, os.fsync

    def short_write(self, handle: int, data: bytes) -> int:
        if self._full():
            if self.part >= 0:
                return self.write(handle, data[: self.part])
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.write(handle, data)

    def full_fsync(self, handle: int) -> None:
        if self._full():
            raise OSError(errno.ENOSPC, "No space left on device")
        self.fsync(handle)

    def _full(self) -> bool:
        self.remaining -= 1
        return self.remaining < 0


def run_seeds(out: Path, seeds: int = SEEDS) -> dict[str, bytes]:
    with Run(config(out, seeds=seeds, concurrency=3), corpus()) as run:
        asyncio.run(run.execute(make_run_seed(), RunCallbacks()))
        return read_journal(run.folder)


def run_until_refused(out: Path) -> str:
    try:
        run_seeds(out)
    except StoreError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("part", [-1, 0, 7])
def test_a_full_disk_at_any_write_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """The disk is full after 1, 2, 3, ... writes, until the run passes."""
    expected = run_seeds(tmp_path / "whole")
    refused = 0
    for number in range(500):
        out = tmp_path / str(number)
        disk = Disk(number, part)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", disk.short_write)
            patch.setattr(os, "fsync", disk.full_fsync)
            line = run_until_refused(out)
        refused += bool(line)
        assert not line or ("disk full" in line and "\n" not in line)
        folder = config(out).folder()
        assert read_journal(folder).items() <= expected.items()
        assert run_seeds(out) == expected
        if disk.remaining >= 0:
            break
    assert disk.remaining >= 0
    assert refused >= 3 * SEEDS


def test_a_file_size_limit_stops_a_run_as_a_full_disk_does(tmp_path: Path) -> None:
    import resource
    import signal

    expected = run_seeds(tmp_path / "whole", 8)
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The limit has room for the run's settings but not for the journal of all seeds.
    limit = (config(tmp_path / "whole").folder() / "run.json").stat().st_size + 500
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(StoreError, match="disk full|ulimit -f"):
            run_seeds(tmp_path / "small", 8)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old_handler)
    finished = read_journal(config(tmp_path / "small").folder())
    assert 0 < len(finished) < 8
    assert run_seeds(tmp_path / "small", 8) == expected
