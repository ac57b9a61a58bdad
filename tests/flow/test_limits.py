"""Limits of an ordinary user's shell, which root would not feel."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL
from tests.flow.conftest import OWNER, environment, python_as
from tests.flow.test_display import MAIN


@pytest.mark.parametrize(("limit", "code", "line"), [
    ("-u 6", 1, "digsite: no more threads can be started (see ulimit -u, -v); finished work is kept"),
    pytest.param("-n 40", 0, "", marks=pytest.mark.slow),
])  # fmt: skip
def test_a_limit_of_the_shell_is_kept_to_or_named_in_one_line(shared: Path, limit: str, code: int, line: str) -> None:
    *wrapper, python = python_as(OWNER)
    limited = ["bash", "-c", f'ulimit {limit} && exec "$@"', "bash", python]
    command = [*wrapper, *limited, "-m", MAIN, "generate", "tiny", *SMALL, "--seeds", "2", "--out", str(shared)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment(OWNER), cwd="/"
    )
    assert done.returncode == code, done.stderr
    assert [told[: len(line)] for told in done.stderr.splitlines() if told.startswith("digsite:")] == [line] * bool(
        line
    )
    assert "Traceback" not in done.stderr
