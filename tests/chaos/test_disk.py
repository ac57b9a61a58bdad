"""A full disk at any write: a clean stop with one line, the journal whole, and the run goes on when there is space."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.run import Run
from tests.left import lines
from tests.run.fakes import RunCallbacks, config, corpus, digger

SEEDS = 4


class Disk:
    """`os.write` and `os.fsync` work `left` times; then there is no space, or a part of one write fits."""

    def __init__(self, left: int, part: int = -1) -> None:
        self.left, self.part = left, part
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
        self.left -= 1
        return self.left < 0


def work(out: Path, seeds: int = SEEDS) -> dict[str, bytes]:
    with Run(config(out, seeds=seeds, concurrency=3), corpus()) as run:
        asyncio.run(run.execute(digger(), RunCallbacks()))
        return lines(run.folder)


def refusal(out: Path) -> str:
    try:
        work(out)
    except StoreError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("part", [-1, 0, 7])
def test_every_write_fails_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """N = 1, 2, 3, ... until the whole run passes."""
    whole = work(tmp_path / "whole")
    refused = 0
    for number in range(500):
        out = tmp_path / str(number)
        disk = Disk(number, part)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", disk.short_write)
            patch.setattr(os, "fsync", disk.full_fsync)
            line = refusal(out)
        refused += bool(line)
        assert not line or ("disk full" in line and "\n" not in line)
        folder = config(out).folder()
        assert lines(folder).items() <= whole.items()
        assert work(out) == whole
        if disk.left >= 0:
            break
    assert disk.left >= 0
    assert refused >= 3 * SEEDS


def test_a_file_size_limit_stops_a_run_as_a_full_disk_does(tmp_path: Path) -> None:
    import resource
    import signal

    whole = work(tmp_path / "whole", 8)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The run's settings fit, the journal of all seeds does not.
    limit = (config(tmp_path / "whole").folder() / "run.json").stat().st_size + 500
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(StoreError, match="disk full|ulimit -f"):
            work(tmp_path / "small", 8)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    kept = lines(config(tmp_path / "small").folder())
    assert 0 < len(kept) < 8
    assert work(tmp_path / "small", 8) == whole
