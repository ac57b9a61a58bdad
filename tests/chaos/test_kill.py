"""Exactly once and paid once, after any number of kills at any moment."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from pipeline.config import How, RunConfig
from pipeline.run import planned
from pipeline.store.journal import Journal, encode
from pipeline.types import sha256
from tests.chaos.child import CONCURRENCY

ROOT = Path(__file__).parents[2]
POINTS = (
    "before_cache", "after_cache", "before_append", "before_append_sync", "after_append",
    "before_sync", "before_rename", "after_rename", "before_swap", "mid_swap",
)  # fmt: skip


class Victim:
    """Runs in `out` that are killed, one after the other; every look in between checks that the state is legal."""

    def __init__(self, out: Path, seeds: int) -> None:
        self.out, self.seeds, self.kills = out, seeds, 0
        self.known: dict[str, bytes] = {}

    def start(self, behaviour: str = "works", crash_at: str = "") -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.chaos.child", str(self.out), str(self.seeds), behaviour]
        environment = {**os.environ, "DIGSITE_CRASH_AT": crash_at}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)

    def crash(self, point: str) -> bool:
        """Run until the point; False if the run came to its end without passing it."""
        process = self.start(crash_at=point)
        _, errors = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), errors
        return self._killed(process.returncode)

    def kill(self, after: float) -> bool:
        process = self.start()
        assert process.stdout is not None
        assert process.stdout.readline() in ("open\n", "")
        time.sleep(after)
        process.kill()
        process.communicate()
        return self._killed(process.returncode)

    def _killed(self, code: int) -> bool:
        self.kills += code != 0
        self.look()
        return code != 0

    def look(self) -> None:
        """Nothing that was there is gone or changed, nothing is there twice, and no file is half a file."""
        journal = Journal(self.folder / "journal")
        assert (journal.duplicates, journal.damaged) == (0, 0)
        assert journal.torn <= 1
        lines = {key: encode(entry.head, journal.read(key)) for key, entry in journal.entries.items()}
        assert lines.items() >= self.known.items()
        self.known = lines
        data = self.folder / "dataset"
        if data.exists():
            assert sha256((data / "part").read_text()) == (data / "manifest").read_text()

    @property
    def folder(self) -> Path:
        return next(
            (path.parent for path in self.out.glob("tiny/*/run.json") if not path.parent.is_symlink()), self.out
        )

    def finish(self) -> None:
        process = self.start()
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
        self.look()

    def check(self, replay: Path) -> dict[str, int]:
        """The finished run holds each planned seed once, paid for no more than kills explain, and can be replayed."""
        self.finish()
        journal = Journal(self.folder / "journal")
        keys = [record.key for record in planned(journal, RunConfig(how=How(seeds=self.seeds)))]
        raw = b"".join(path.read_bytes() for path in (self.folder / "journal").iterdir())
        assert len(keys) == len(set(keys)) == self.seeds == raw.count(b"\n")
        assert not list(self.folder.glob("*.incomplete")) + list(self.folder.glob(".*.tmp"))
        paid = Counter((self.out / "paid").read_text().split())
        twice = paid.total() - len(paid)
        assert len(paid) == 4 * self.seeds
        assert twice <= CONCURRENCY * self.kills
        replay.mkdir()
        shutil.copy(self.out / "cache.sqlite", replay)
        again = Victim(replay, self.seeds)
        again.finish()
        assert again.known == self.known
        assert (replay / "paid").read_text() == ""
        assert (again.folder / "dataset" / "part").read_bytes() == (self.folder / "dataset" / "part").read_bytes()
        return {"kills": self.kills, "records": len(keys), "paid twice": twice}


def random_kills(tmp_path: Path, seeds: int, kills: int, chance: int) -> dict[str, int]:
    victim, moments = Victim(tmp_path / "run", seeds), random.Random(chance)
    victim.out.mkdir()
    while victim.kills < kills and victim.kill(moments.uniform(0.0, 0.35)):
        pass
    return victim.check(tmp_path / "replay")


def test_kills_at_random_moments(tmp_path: Path) -> None:
    figures = random_kills(tmp_path, seeds=800, kills=8, chance=1)
    print(figures)
    assert figures["kills"] >= 3


def test_kills_at_every_point(tmp_path: Path) -> None:
    victim = Victim(tmp_path / "run", 60)
    victim.out.mkdir()
    missed = [
        point
        for point in POINTS[:8]
        if not victim.crash(f"{point}:{3 if 'append' in point or 'cache' in point else 1}")
    ]
    missed += [point for point in POINTS[8:9] if not victim.crash(f"{point}:1")]
    victim.finish()
    missed += [point for point in POINTS[9:] if not victim.crash(f"{point}:1")]
    assert not missed
    print(victim.check(tmp_path / "replay"))


@pytest.mark.slow
@pytest.mark.parametrize("chance", [1, 2, 3, 4])
def test_fifty_kills_at_random_moments(tmp_path: Path, chance: int) -> None:
    figures = random_kills(tmp_path, seeds=6000, kills=50, chance=chance)
    print(figures)
    assert figures["kills"] >= 20


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_kills_at_one_point_again_and_again(tmp_path: Path, point: str) -> None:
    """The resume is killed too."""
    victim = Victim(tmp_path / "run", 120)
    victim.out.mkdir()
    for passage in (1, 2, 3, 5, 8):
        victim.crash(f"{point}:{passage}")
    assert victim.kills or point == "mid_swap"
    print(victim.check(tmp_path / "replay"))
