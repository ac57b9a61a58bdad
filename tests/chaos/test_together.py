"""If many commands start on one run, one works and the others are refused at once in one line."""

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


def measure_command(*arguments: str) -> tuple[int, float, str]:
    """Run a command. Return its exit code, CPU seconds and stderr."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr
    stderr = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime, stderr


@pytest.mark.parametrize("count", [pytest.param(50, marks=pytest.mark.chaos)])
def test_only_one_of_many_commands_proceeds(tmp_path: Path, figures: Figures, count: int) -> None:
    """A refusal is measured in CPU seconds relative to `--help`, as a busy machine slows both."""
    command = [*CHEAP, "--seeds", str(SEEDS)]
    processes = [start(tmp_path, *command) for _ in range(count)]
    try:
        end = time.monotonic() + 300
        while sum(process.poll() is not None for process in processes) < count - 1 and time.monotonic() < end:
            time.sleep(0.05)
        refused = [process for process in processes if process.poll() is not None]
        assert len(refused) == count - 1, [process.returncode for process in processes]
        for process in refused:
            _, stderr = process.communicate()
            assert process.returncode == 1
            _check_refusal(stderr)
        _, start_up, _ = measure_command("generate", "--help")
        code, seconds, stderr = measure_command("generate", "tiny", *command, "--out", str(tmp_path))
        assert code == 1
        _check_refusal(stderr)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    Remains(tmp_path).look()
    assert orphans(tmp_path) == []
    figures({"starts": count}, {"proceeded": 1, "refused": len(refused), "refusal in s": round(seconds - start_up, 2)})
    assert seconds < 2 * start_up


def _check_refusal(stderr: str) -> None:
    words = [line for line in stderr.splitlines() if line.startswith("digsite: ")]
    assert len(words) == 1, stderr
    assert "another process" in words[0]
