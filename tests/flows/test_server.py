"""The server of a command: it dies with its parent, and says why where it does not start."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PARENT = """
import os, sys
from pathlib import Path
from flows.server import Server
server = Server(Path(sys.argv[1]))
server.start()
print(server._child.pid if server._child else 0, os.environ["PREFECT_API_URL"], flush=True)
if sys.argv[2] == "wait":
    try:
        server.wait()
    except Exception as error:
        print(type(error).__name__, error, flush=True)
sys.stdin.read()
"""


def parent(home: Path, then: str, **env: str) -> subprocess.Popen[str]:
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, "-c", PARENT, str(home), then]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**quiet, **env})


def first_line(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def gone(pid: int) -> bool:
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return True
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False


def test_it_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    process = parent(tmp_path, "go")
    pid = int(first_line(process)[0])
    os.kill(pid, 0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert gone(pid)


def test_who_has_a_server_keeps_it_and_hears_where_it_does_not_answer(tmp_path: Path) -> None:
    process = parent(tmp_path / "home", "wait", PREFECT_API_URL="http://127.0.0.1:1/api")
    assert first_line(process) == ["0", "http://127.0.0.1:1/api"]
    said = " ".join(first_line(process))
    assert said.startswith("UsageError")
    assert "PREFECT_API_URL" in said
    process.communicate()
    assert not (tmp_path / "home").exists()


@pytest.mark.slow
def test_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    process = parent(tmp_path / "file" / "home", "wait")
    first_line(process)
    said = " ".join(first_line(process))
    assert said.startswith("DigsiteError")
    assert "--no-flow" in said
    assert "Error" in said.partition("It said:")[2]
    process.communicate()
