"""Only the owner can use the server and its folder, and settings of another Prefect are ignored."""

import fcntl
import re
import subprocess
import sys
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.cli.conftest import SMALL
from tests.flow.conftest import OTHER, OWNER, Started, environment, first_line, parent, python_as
from tests.flow.test_display import MAIN
from tests.flow.test_server import authenticate, login, request_server
from tests.rules.source import ROOT

LOOK = """
import glob, sys
for path in [*sys.argv[1:], *glob.glob("/proc/[0-9]*/environ"), *glob.glob("/proc/[0-9]*/cmdline")]:
    try:
        with open(path, "rb") as file:
            print(file.read().hex())
    except OSError:
        pass
"""
"""Print whatever can be read of these files, and of the environments and command lines of all processes."""


def test_every_request_needs_the_password(server: Started) -> None:
    pages = server.url.removesuffix("/api")
    commands = {"/deployments/": b"{}", "/work_pools/": b"{}", "/flow_runs/filter": b"{}", "/admin/settings": None}
    for path, data in commands.items():
        for headers in ({}, login("wrong"), {"Authorization": "Basic"}, {"Authorization": f"Bearer {server.password}"}):
            assert request_server(server.url + path, data, **headers)[0] == 401, (path, headers)
    for socket in ("/events/in", "/events/out", "/logs/out", "/task_runs/subscriptions/scheduled"):
        url = server.url.replace("http", "ws") + socket
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            authenticate(url, pages, "wrong")
        with pytest.raises((InvalidStatus, ConnectionClosed)), connect(url, proxy=None) as without_protocol:
            without_protocol.recv(timeout=30)
    pages_shown = [
        request_server(pages + path)[1] for path in ("", "/ui-settings", "/login", "/v2", "/api/health", "/api/docs")
    ]
    assert not any(server.password.encode() in page for page in pages_shown)


def run_python_as(user: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments as that user."""
    command = [*python_as(user), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment(user), cwd="/"
    )


@pytest.mark.slow
def test_another_user_sees_neither_the_password_nor_the_files(shared_folder: Path) -> None:
    home = shared_folder / "out/.prefect"
    process = parent(home, user=OWNER)
    url, _ = first_line(process)
    assert first_line(process) == ["ready"]
    try:
        password = (home / "password").read_text()
        paths = [path for path in home.iterdir() if path.is_file()]
        assert [path for path in (home, *paths) if path.stat().st_mode & 0o77] == []
        outputs = {user: run_python_as(user, "-c", LOOK, *paths).stdout for user in (OWNER, OTHER)}
        assert password.encode().hex() in outputs[OWNER]
        assert password.encode().hex() not in outputs[OTHER]
        assert request_server(url + "/flow_runs/filter", b"{}", **login(password))[0] == 200
    finally:
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_a_folder_of_another_user_is_reported_and_the_run_continues(shared_folder: Path, mode: int) -> None:
    home = shared_folder / ".prefect"
    home.mkdir()
    home.chmod(mode)
    process = run_python_as(OWNER, "-m", MAIN, "generate", "tiny", *SMALL, "--seeds", "2", "--out", shared_folder)
    assert process.returncode == 0, process.stderr
    (message,) = [line for line in process.stderr.splitlines() if "Prefect" in line]
    assert re.fullmatch(r"Prefect does not show this run: .*/.prefect.*; --no-flow runs without it", message)


@pytest.mark.slow
def test_a_stuck_lock_is_reported_and_the_run_continues(tmp_path: Path) -> None:
    lock = tmp_path / ".prefect/users.lock"
    lock.parent.mkdir()
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [sys.executable, "-m", MAIN, "generate", "tiny", *SMALL, "--seeds", "2", "--out", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert f"waiting for another process, which keeps {lock} locked" in done.stderr
    assert f"Prefect does not show this run: another process keeps {lock} locked" in done.stderr


@pytest.mark.slow
def test_settings_of_another_prefect_are_ignored(tmp_path: Path) -> None:
    """Neither those of the shell nor of the active profile nor of files in the working folder."""
    elsewhere, home, folder = tmp_path / "elsewhere", tmp_path / "out/.prefect", tmp_path / "folder"
    for path in (elsewhere, folder, tmp_path / ".prefect"):
        path.mkdir()
    name, url = "PREFECT_SERVER_DATABASE_CONNECTION_URL", f"sqlite+aiosqlite:///{elsewhere}"
    profiles = tmp_path / ".prefect/profiles.toml"
    profiles.write_text(f'active = "a"\n[profiles.a]\n{name} = "{url}/profile.db"\n')
    (folder / ".env").write_text(f"{name}={url}/file.db\n")
    (folder / "prefect.toml").write_text(f'[server.database]\nconnection_url = "{url}/toml.db"\n')
    shell = {
        name: f"{url}/shell.db",
        name.lower(): f"{url}/lower.db",
        "PREFECT_API_DATABASE_CONNECTION_URL": f"{url}/old.db",
        "PREFECT_HOME": str(elsewhere / "home"),
        "PREFECT_PROFILES_PATH": str(profiles),
        "PREFECT_LOCAL_STORAGE_PATH": str(elsewhere / "storage"),
        "PREFECT_MEMO_STORE_PATH": str(elsewhere / "memo.toml"),
        "PREFECT_SERVER_API_AUTH_STRING": "known",
        "PREFECT_API_AUTH_STRING": "known",
    }
    process = parent(home, {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **shell}, cwd=folder)
    started = first_line(process)
    assert first_line(process) == ["ready"]
    assert request_server(started[0] + "/flow_runs/filter", b"{}", **login("known"))[0] == 401
    process.communicate()
    assert list(elsewhere.iterdir()) == []
    assert (home / "prefect.db").stat().st_size
