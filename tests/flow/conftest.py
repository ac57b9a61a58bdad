"""What the tests of the flow share: a server that a process of its own has started, as a command does."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PARENT = """
import os, sys
from pathlib import Path
from pipeline.flow.server import Server
server = Server(Path(sys.argv[1]))
server.start()
auth = os.environ.get("PREFECT_API_AUTH_STRING", "") if sys.argv[2] == "auth" else ""
print(server._child.pid if server._child else 0, os.environ["PREFECT_API_URL"], auth, flush=True)
if sys.argv[2] == "auth":
    server.wait()
    print("ready", flush=True)
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


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Address and password of one server, which the tests share: its start is long."""
    process = parent(tmp_path_factory.mktemp("server"), "auth")
    _, url, auth = first_line(process)
    assert first_line(process) == ["ready"]
    yield url, auth
    process.communicate()
