"""Many commands on one run at the same moment: one of them works, the others are refused at once, in one line."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.command import CHEAP, ROOT, Remains, orphans, start
from tests.conftest import Figures

SEEDS = 20_000
"""More than can be done before the last of them is refused."""


def used(*arguments: str) -> tuple[int, float, str]:
    """Exit code, seconds of CPU and last words of a command that is run alone."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, said


@pytest.mark.parametrize("count", [pytest.param(50, marks=pytest.mark.chaos)])
def test_of_many_at_once_one_proceeds(tmp_path: Path, figures: Figures, count: int) -> None:
    """A refusal is measured in seconds of CPU beside those of `--help`: a busy machine makes both longer."""
    command = [*CHEAP, "--seeds", str(SEEDS)]
    processes = [start(tmp_path, *command) for _ in range(count)]
    try:
        end = time.monotonic() + 300
        while sum(process.poll() is not None for process in processes) < count - 1 and time.monotonic() < end:
            time.sleep(0.05)
        refused = [process for process in processes if process.poll() is not None]
        assert len(refused) == count - 1, [process.returncode for process in processes]
        for process in refused:
            _, said = process.communicate()
            assert process.returncode == 1
            _one_line(said)
        _, start_up, _ = used("generate", "--help")
        code, seconds, said = used("generate", "tiny", *command, "--out", str(tmp_path))
        assert code == 1
        _one_line(said)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    Remains(tmp_path).look()
    assert orphans(tmp_path) == []
    figures({"starts": count}, {"proceeded": 1, "refused": len(refused), "refusal in s": round(seconds - start_up, 2)})
    assert seconds < 2 * start_up


def _one_line(said: str) -> None:
    words = [line for line in said.splitlines() if line.startswith("digsite: ")]
    assert len(words) == 1, said
    assert "another process" in words[0]
