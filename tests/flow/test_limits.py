"""Limits of an ordinary user's shell, which do not apply to root, are respected or named."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL
from tests.flow.conftest import OWNER, environment, python_as
from tests.flow.test_display import MAIN

LIMITED = 64003
"""A user of these tests alone: the processes that other tests run as the same user would count towards its limit."""
ROOMY = f"-u {32 + 8 * (os.cpu_count() or 1)}"
"""A limit with room for the threads of Polars on each core."""
GENERATE = ("generate", "tiny", *SMALL, "--seeds", "2")


@pytest.mark.parametrize(("limit", "code", "line"), [
    ("-u 20", 1, "digsite: no more threads can be started; end other processes or raise the limit (ulimit -u"),
    pytest.param("-n 40", 0, "", marks=pytest.mark.slow),
    pytest.param(ROOMY, 0, "", marks=pytest.mark.slow),
])  # fmt: skip
def test_a_limit_of_the_shell_is_kept_to_or_named_in_one_line(
    shared_folder: Path, limit: str, code: int, line: str
) -> None:
    os.chown(shared_folder, LIMITED, LIMITED)
    *wrapper, python = python_as(LIMITED)
    limited = ["bash", "-c", f'ulimit {limit} && exec "$@"', "bash", python]
    command = [*wrapper, *limited, "-m", MAIN, *GENERATE, "--out", str(shared_folder)]
    if limit == ROOMY:  # Prefect's server takes more threads
        command.append("--no-flow")
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment(LIMITED), cwd="/"
    )
    assert done.returncode == code, done.stderr
    messages = [message for message in done.stderr.splitlines() if message.startswith("digsite:")]
    assert [message[: len(line)] for message in messages] == ([line] if line else []), done.stderr
    assert "Traceback" not in done.stderr
    assert "jemalloc" not in done.stderr


@pytest.mark.slow
def test_a_journal_that_this_user_may_not_read_is_named_in_one_line(shared_folder: Path) -> None:
    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [*python_as(OWNER), "-m", "pipeline.cli", *arguments, "--out", str(shared_folder)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=300, env=environment(OWNER), cwd="/"
        )

    assert run(*GENERATE, "--no-flow").returncode == 0
    (shared_folder / "tiny/latest/journal/main.jsonl").chmod(0)
    for command in ((*GENERATE, "--no-flow"), ("inspect", "latest")):
        done = run(*command)
        lines = [line for line in done.stderr.splitlines() if line.startswith("digsite:")]
        assert (done.returncode, len(lines)) == (2, 1), done.stderr
        assert lines[0].endswith("permission denied; give this user the right to (chmod, chown) and repeat the command")
        assert "main.jsonl" in lines[0]
