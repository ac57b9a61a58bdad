"""What the tests of the flow share: a server that a process of its own has started, as a command does."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PARENT = """
import sys
from pathlib import Path
from pipeline.flow.server import QUIET, Server
server = Server(Path(sys.argv[1]))
try:
    server.start(QUIET)
    print(server.url, server._child.pid if server._child else "", flush=True)
    server.wait()
    print("ready", flush=True)
except Exception as error:
    print(type(error).__name__, error, flush=True)
sys.stdin.read()
"""


def parent(home: Path, **env: str) -> subprocess.Popen[str]:
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, "-c", PARENT, str(home)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**quiet, **env})


def first_line(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of one server, which the tests share: its start is long."""
    process = parent(tmp_path_factory.mktemp("server"))
    url, _ = first_line(process)
    assert first_line(process) == ["ready"]
    yield url
    process.communicate()
