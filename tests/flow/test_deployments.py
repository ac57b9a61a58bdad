"""`make serve` works with a real server, schedule and worker, even if they are killed in the middle of a night."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pipeline.store.journal import Journal
from tests.flow.test_nightly import ROOT, write_settings
from tests.flow.test_server import login

SEEDS = 600
DEPLOYMENTS = """
name: digsite
deployments:
  - name: grow
    entrypoint: flows/nightly.py:grow
    parameters: {{config: "{config}"}}
    schedules: {schedules}
    work_pool: {{name: digsite}}
"""


class Standing:
    """`make serve` over a folder, on a port of its own, with `grow` for the settings at `config`."""

    def __init__(self, folder: Path, port: int, config: Path, schedules: str = "[]") -> None:
        self.home, self.port = folder / "new/home", port
        self.file = folder / "deployments.yaml"
        self.file.write_text(DEPLOYMENTS.format(config=config, schedules=schedules))

    @contextmanager
    def serving(self) -> Iterator[subprocess.Popen[str]]:
        base = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        prefect_settings = {"PREFECT_HOME": str(self.home), "PREFECT_SERVER_API_PORT": str(self.port)}
        command = [sys.executable, "-m", "pipeline.flow.deployments", "serve", str(self.file)]
        with (self.file.with_suffix(".log")).open("a") as log:
            # As a script's background job, which ignores SIGINT.
            command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
            process = subprocess.Popen(
                command, env=base | prefect_settings, cwd=ROOT, stdout=log, stderr=log, text=True
            )
            try:
                yield process
                process.send_signal(signal.SIGTERM)
                process.wait(60)
            finally:
                self.kill("")

    def deploy(self, **env: str) -> subprocess.CompletedProcess[str]:
        """`make deploy`."""
        base = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        command = [sys.executable, "-m", "pipeline.flow.deployments", "deploy", str(self.file)]
        prefect_settings = {"PREFECT_HOME": str(self.home)}
        return subprocess.run(
            command,
            env=base | prefect_settings | env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def processes(self, name: str) -> list[int]:
        """Return the ids of our processes whose command line contains the name."""
        ours = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                mine = f"PREFECT_HOME={self.home}".encode() in (process / "environ").read_bytes().split(b"\0")
                if mine and name in (process / "cmdline").read_bytes().replace(b"\0", b" ").decode():
                    ours.append(int(process.name))
        return ours

    def kill(self, name: str) -> int:
        """Kill -9 each of these processes, and return how many there were."""
        killed = 0
        for process in self.processes(name):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
                killed += 1
        return killed

    def flow_runs(self) -> list[dict[str, Any]]:
        """Return the latest state and message of all flow runs; none while the server starts."""
        try:
            return list(self.request("/flow_runs/filter", b"{}"))
        except (OSError, urllib.error.URLError):
            return []

    def request(self, path: str, data: bytes | None = None) -> Any:
        """Send a GET to Prefect's API, or a POST with data, and return the parsed answer."""
        headers = {"Content-Type": "application/json", **login((self.home / "password").read_text())}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api{path}", data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def messages(self, state: str) -> list[str]:
        runs = [run["state"] for run in self.flow_runs() if run["deployment_id"]]
        return [run["message"] for run in runs if run["name"] == state]


class Nights(Standing):
    """A deployment over `tiny` whose schedule fires every 30 seconds."""

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__(folder, port, write_settings(folder, seeds=SEEDS), "[{interval: 30}]")
        self.run = folder / "out/tiny/night"

    def journal(self) -> int:
        return sum(path.stat().st_size for path in (self.run / "journal").glob("*.jsonl"))


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def wait_until(reached: Callable[[], object], limit: float = 300) -> None:
    end = time.monotonic() + limit
    while not reached():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("forget", [False, True])
def test_a_schedule_fires_and_the_night_after_a_kill_finishes(tmp_path: Path, forget: bool) -> None:
    """With `forget` everything is killed, and Prefect's database deleted: the journal alone decides what is owed."""
    port = find_free_port()
    standing = Nights(tmp_path, port)
    with standing.serving():
        wait_until(standing.journal)
        # The flow's own process, and its worker.
        assert standing.kill("prefect.engine")
        assert standing.kill("" if forget else "worker start")
        before = standing.journal()
        if not forget:
            wait_until(lambda: standing.messages("Completed"))
            assert "its process was killed; a later run continued" in standing.messages("Crashed")
            credentials = {"PREFECT_API_AUTH_STRING": (standing.home / "password").read_text()}
            assert standing.deploy(PREFECT_API_URL=f"http://127.0.0.1:{port}/api", **credentials).returncode == 0
    if forget:
        shutil.rmtree(standing.home)
        with standing.serving():
            wait_until(lambda: standing.messages("Completed"))
    assert 0 < before < standing.journal()
    lines = (standing.run / "journal/main.jsonl").read_bytes().count(b"\n")
    assert lines == SEEDS == len(Journal(standing.run / "journal").entries)
    assert (standing.run / "report.html").is_file()
    assert standing.kill("") == 0


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["pipeline.flow.deployments serve", "pipeline.flow.server"])
def test_a_worker_ends_with_its_command_and_with_its_server(tmp_path: Path, victim: str) -> None:
    """Else it would go on with its keys, and take work from whoever listens on the port next."""
    port = find_free_port()
    standing = Nights(tmp_path, port)
    with standing.serving() as process:
        wait_until(lambda: standing.processes("worker start"))
        wait_until(standing.journal)
        assert standing.kill(victim)
        wait_until(lambda: process.poll() is not None, 30)
        wait_until(lambda: not standing.processes("worker start") + standing.processes("pipeline.flow.server"), 10)
        log = standing.file.with_suffix(".log").read_text()
        assert f"Prefect's pages: http://127.0.0.1:{port}; their password is in {standing.home}/password; " in log
        if "server" in victim:
            assert process.returncode == 1
            assert log.splitlines()[-1] == "digsite: Prefect's server has ended; start make serve again"


def test_deploy_needs_an_address(tmp_path: Path) -> None:
    done = Nights(tmp_path, 0).deploy()
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("digsite: where to? set PREFECT_API_URL")


def test_an_invalid_port_is_refused_in_one_line(tmp_path: Path) -> None:
    env = os.environ | {"PREFECT_HOME": str(tmp_path), "PREFECT_SERVER_API_PORT": "web"}
    command = [sys.executable, "-m", "pipeline.flow.deployments", "serve"]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("digsite: PREFECT_SERVER_API_PORT must be a number")


@pytest.mark.slow
def test_a_port_in_use_is_refused_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        standing = Nights(tmp_path, listener.getsockname()[1])
        with standing.serving() as process:
            assert process.wait(60) == 2
    log_lines = standing.file.with_suffix(".log").read_text().splitlines()
    assert [
        bool(re.match(r"digsite: cannot listen on 127.0.0.1:\d+ .*PREFECT_API_URL", line)) for line in log_lines
    ] == [True]
