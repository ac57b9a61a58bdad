"""A disk under a run that disappears or is full ends the run in one line, and the run resumes later."""

import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.command import CHEAP, Remains, finished, start, until, until_more
from tests.conftest import Figures

SEEDS = 300
MEGABYTES = 64


def list_mounts(*command: str | Path) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.strip()


class Disk:
    """A file system in a file, at `place`."""

    def __init__(self, image: Path, place: Path) -> None:
        self.place = place
        place.mkdir()
        with image.open("wb") as file:
            file.truncate(MEGABYTES << 20)
        list_mounts("mkfs.ext4", "-q", image)
        self._device = list_mounts("losetup", "--find", "--show", image)

    def come(self) -> None:
        list_mounts("mount", self._device, self.place)

    def go(self) -> None:
        """Files that are open stay so, as on a server that is still there; no name leads to them any more."""
        list_mounts("umount", "--lazy", self.place)

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.place)], check=False, capture_output=True)
        list_mounts("losetup", "--detach", self._device)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    try:
        mounted = Disk(tmp_path / "image", tmp_path / "disk")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no disk can be made here: {error}")
    try:
        mounted.come()
        yield mounted
    finally:
        mounted.close()


def wait_for_refusal(process: subprocess.Popen[str]) -> str:
    """Wait for the end of a refused command and return its one line."""
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 1, stderr
    (line,) = [line for line in stderr.splitlines() if line.startswith("digsite: ")]
    assert "Traceback" not in stderr
    return line


def check_resume(remains: Remains, undisturbed: Remains) -> None:
    finished(start(remains.out, *CHEAP, "--seeds", str(SEEDS)))
    remains.whole(SEEDS)
    finished(start(undisturbed.out, *CHEAP, "--seeds", str(SEEDS)))
    undisturbed.whole(SEEDS)
    assert (remains.known, remains.shards()) == (undisturbed.known, undisturbed.shards())


@pytest.mark.parametrize("times", [pytest.param(3, marks=pytest.mark.chaos)])
def test_a_run_resumes_when_its_disk_is_back(disk: Disk, tmp_path: Path, figures: Figures, times: int) -> None:
    draw, remains = random.Random(times), Remains(disk.place / "out")
    for _ in range(times):
        process = start(remains.out, *CHEAP, "--seeds", str(SEEDS))
        until_more(remains, process)
        time.sleep(draw.uniform(0, 1))
        disk.go()
        assert "cannot write" in wait_for_refusal(process)
        disk.come()
        remains.look()
    check_resume(remains, Remains(tmp_path / "whole"))
    figures({"times": times, "seeds": SEEDS}, {"lost": 0, "doubled": 0})


@pytest.mark.parametrize("free", [pytest.param(kilobytes, marks=pytest.mark.chaos) for kilobytes in (0, 200, 1000)])
def test_a_run_resumes_when_its_disk_has_space_again(disk: Disk, tmp_path: Path, figures: Figures, free: int) -> None:
    remains, filler = Remains(disk.place / "out"), disk.place / "filler"
    process = start(remains.out, *CHEAP, "--seeds", str(SEEDS))
    until(lambda: remains.journal() > 0, process)
    space = os.statvfs(disk.place)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(4096, space.f_bavail * space.f_frsize - (free << 10)))
    assert "disk full" in wait_for_refusal(process)
    remains.look()
    filler.unlink()
    check_resume(remains, Remains(tmp_path / "whole"))
    figures({"full disks": 1, "seeds": SEEDS}, {"lost": 0, "doubled": 0})
