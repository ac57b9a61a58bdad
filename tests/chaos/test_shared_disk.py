"""A disk of its own under a run, which goes away and comes back, or really is full: one line, and the run goes on."""

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


def mounting(*command: str | Path) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout.strip()


class Disk:
    """A file system in a file, at `place`."""

    def __init__(self, image: Path, place: Path) -> None:
        self.place = place
        place.mkdir()
        with image.open("wb") as file:
            file.truncate(MEGABYTES << 20)
        mounting("mkfs.ext4", "-q", image)
        self._device = mounting("losetup", "--find", "--show", image)

    def come(self) -> None:
        mounting("mount", self._device, self.place)

    def go(self) -> None:
        """Files that are open stay so, as on a server that is still there; no name leads to them any more."""
        mounting("umount", "--lazy", self.place)

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.place)], check=False, capture_output=True)
        mounting("losetup", "--detach", self._device)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a disk")
    try:
        made = Disk(tmp_path / "image", tmp_path / "disk")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no disk can be made here: {error}")
    try:
        made.come()
        yield made
    finally:
        made.close()


def refused(process: subprocess.Popen[str]) -> str:
    """The one line that it ended with."""
    _, said = process.communicate(timeout=300)
    assert process.returncode == 1, said
    (line,) = [line for line in said.splitlines() if line.startswith("digsite: ")]
    assert "Traceback" not in said
    return line


def goes_on(remains: Remains, whole: Remains) -> None:
    finished(start(remains.out, *CHEAP, "--seeds", str(SEEDS)))
    remains.whole(SEEDS)
    finished(start(whole.out, *CHEAP, "--seeds", str(SEEDS)))
    whole.whole(SEEDS)
    assert (remains.known, remains.shards()) == (whole.known, whole.shards())


@pytest.mark.parametrize("times", [pytest.param(3, marks=pytest.mark.chaos)])
def test_one_that_goes_away_ends_the_run_which_goes_on_when_it_is_back(
    disk: Disk, tmp_path: Path, figures: Figures, times: int
) -> None:
    draw, remains = random.Random(times), Remains(disk.place / "out")
    for _ in range(times):
        process = start(remains.out, *CHEAP, "--seeds", str(SEEDS))
        until_more(remains, process)
        time.sleep(draw.uniform(0, 1))
        disk.go()
        assert "cannot write" in refused(process)
        disk.come()
        remains.look()
    goes_on(remains, Remains(tmp_path / "whole"))
    figures({"times": times, "seeds": SEEDS}, {"lost": 0, "doubled": 0})


@pytest.mark.parametrize("free", [pytest.param(kilobytes, marks=pytest.mark.chaos) for kilobytes in (0, 200, 1000)])
def test_one_that_is_full_ends_the_run_which_goes_on_when_there_is_space(
    disk: Disk, tmp_path: Path, figures: Figures, free: int
) -> None:
    remains, filler = Remains(disk.place / "out"), disk.place / "filler"
    process = start(remains.out, *CHEAP, "--seeds", str(SEEDS))
    until(lambda: remains.journal() > 0, process)
    left = os.statvfs(disk.place)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(4096, left.f_bavail * left.f_frsize - (free << 10)))
    assert "disk full" in refused(process)
    remains.look()
    filler.unlink()
    goes_on(remains, Remains(tmp_path / "whole"))
    figures({"full disks": 1, "seeds": SEEDS}, {"lost": 0, "doubled": 0})
