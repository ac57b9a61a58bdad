"""Fixtures for the flow: a server started by its own process, as a command does."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.rules.source import ROOT

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


class Started(NamedTuple):
    url: str
    password: str

    @property
    def settings(self) -> dict[str, str]:
        """Return the environment in which Prefect uses this server."""
        return {"PREFECT_API_URL": self.url, "PREFECT_API_AUTH_STRING": self.password}


OWNER, OTHER = 64001, 64002
"""Users without a name, who may do what any user may."""
AS_USER = """
mount --bind "$1" /mnt && user=$2 && shift 2
exec setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@"
"""
"""Runs a command as another user, who finds Python at /mnt: root's own may lie where nobody else gets to."""


def python_as(user: int | None) -> list[str]:
    """Return the start of a command that runs Python as another user, which only root can do."""
    if user is None:
        return [sys.executable]
    python = f"/mnt/bin/python3.{sys.version_info.minor}"
    return ["unshare", "--mount", "sh", "-c", AS_USER, "sh", sys.base_prefix, str(user), python]


def environment(user: int | None = None, **env: str) -> dict[str, str]:
    """Return the environment for `python_as`, without Prefect's settings."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    packages = os.pathsep.join([str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))])
    user_settings = {"HOME": "/nonexistent", "PYTHONPATH": packages, "LD_LIBRARY_PATH": "/mnt/lib"} if user else {}
    return {**base, **user_settings, **env}


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """Make a folder of OWNER's that every user may enter, unlike pytest's."""
    if os.geteuid() != 0:
        pytest.skip("only root may act as two other users")
    command = [*python_as(OWNER), "-c", "import pipeline.flow.server, redis.asyncio"]
    if subprocess.run(command, env=environment(OWNER), check=False, capture_output=True).returncode:
        pytest.skip("other users cannot run this installation")
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    os.chown(folder, OWNER, OWNER)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def parent(
    home: Path, env: Mapping[str, str] = MappingProxyType({}), user: int | None = None, cwd: Path | None = None
) -> subprocess.Popen[str]:
    command, pipe = [*python_as(user), "-c", PARENT, str(home)], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=cwd, env=environment(user, **env))


def first_line(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """Start one server for all tests, since starting takes long."""
    home = tmp_path_factory.mktemp("server")
    process = parent(home)
    url, _ = first_line(process)
    assert first_line(process) == ["ready"]
    yield Started(url, (home / "password").read_text())
    process.communicate()
