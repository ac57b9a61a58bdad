"""The flow on the tiny corpus with its own server gives the same bytes, and leaves nothing behind."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import SMALL
from tests.flow.conftest import first_line, parent
from tests.flow.test_server import login, request_server
from tests.run_files import read_files

ROOT = Path(__file__).resolve().parents[2]
MAIN = "pipeline.flow.main"
KEY = "sk-canary-8c02d7f1"
SHOWN = r"Prefect shows this run at http://127.0.0.1:\d+; the password is in .*/.prefect/password$"


def digsite(module: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return python("-m", module, *arguments)


def python(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, *map(str, arguments)]
    env = {**quiet, "OPENAI_API_KEY": KEY}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=300)


def find_leftovers(out: Path) -> list[bytes]:
    """Return the command lines of processes with a PREFECT_HOME in `out` five seconds after their command.

    A server learns from a lock that its last command has ended, and then ends itself, at about the same time.
    """
    until = time.monotonic() + 5
    while (alive := find_processes(out)) and time.monotonic() < until:
        time.sleep(0.05)
    return alive


def find_processes(out: Path) -> list[bytes]:
    alive = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"PREFECT_HOME={out}".encode() in (process / "environ").read_bytes():
                alive.append((process / "cmdline").read_bytes())
        except OSError:
            continue
    return alive


@pytest.mark.slow
def test_the_flow_gives_the_same_bytes_as_no_flow_and_leaves_no_server(tmp_path: Path) -> None:
    """One test, because a flow of its own costs its server's start."""
    flow = digsite(MAIN, "generate", "tiny", *SMALL, "--seeds", "6", "--out", tmp_path / "flow", "--json")
    assert flow.returncode == 0, flow.stderr
    assert find_leftovers(tmp_path) == []
    progress = re.compile(rf"[a-zA-Z ]+: \d+/6 seeds|{SHOWN}")
    assert all(map(progress.match, flow.stderr.splitlines())), "Prefect is not quiet"
    check_database(tmp_path / "flow/.prefect/prefect.db")
    check_later_server(tmp_path / "flow/.prefect")
    plain = digsite("pipeline.cli", "generate", "tiny", *SMALL, "--seeds", "6", "--out", tmp_path / "none", "--json")
    assert plain.returncode == 0, plain.stderr
    runs = [Path(orjson.loads(command.stdout)["run"]).name for command in (flow, plain)]
    assert runs[0] == runs[1], "the demo model's code was edited between the two"
    shards = read_files(tmp_path / "flow/tiny/latest/dataset")
    assert any(name.endswith(".parquet") for name in shards)
    assert shards == read_files(tmp_path / "none/tiny/latest/dataset")


def check_database(database: Path) -> None:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as opened:
        ((parameters, state),) = opened.execute("SELECT parameters, state_name FROM flow_run").fetchall()
        ((kind, report),) = opened.execute(
            "SELECT type, data FROM artifact WHERE key = 'digsite-tiny-report'"
        ).fetchall()
        keys = {key for (key,) in opened.execute("SELECT key FROM artifact WHERE key IS NOT NULL")}
        states = {state for (state,) in opened.execute("SELECT state_name FROM task_run")}
    assert (state, states) == ("Completed", {"Completed"})
    assert not [path for path in database.parent.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert orjson.loads(parameters) == {"run": run_name(database.parent.parent)}
    assert keys == {"digsite-tiny-progress", "digsite-tiny-funnel", "digsite-tiny-report"}
    page = orjson.loads(report)
    ((accepted,),) = [re.findall(r"(\d+) of 6 seeds were accepted", page)]
    assert (kind, page.count("Question: "), "file://" in page) == ("markdown", min(3, int(accepted)), False)
    assert int(accepted)
    (path,) = re.findall(r"```text\n(/.*report.html)\n```", page)
    assert Path(path).is_file()


def run_name(out: Path) -> str:
    return (out / "tiny/latest").resolve().relative_to(out.resolve()).as_posix()


def check_later_server(home: Path) -> None:
    process = parent(home)
    url, _ = first_line(process)
    assert first_line(process) == ["ready"]
    (run,) = orjson.loads(request_server(f"{url}/flow_runs/filter", b"{}", **login((home / "password").read_text()))[1])
    assert (run["state_name"], run["name"]) == ("Completed", run_name(home.parent))
    process.communicate()


def flow_states(out: Path) -> list[str]:
    """Return the states of all flow runs in a folder's server; none while it starts."""
    try:
        with sqlite3.connect(f"file:{out}/.prefect/prefect.db?mode=ro", uri=True) as opened:
            return [state for (state,) in opened.execute("SELECT state_name FROM flow_run")]
    except sqlite3.OperationalError:
        return []


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_flow_in_time_without_its_tracebacks(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", MAIN, "generate", "tiny", *SMALL, "--seeds", "2000", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 150
    while flow_states(tmp_path) != ["Running"] and time.monotonic() < deadline:
        time.sleep(0.5)
    process.send_signal(number)
    sent = time.monotonic()
    _, stderr = process.communicate(timeout=30)
    assert time.monotonic() - sent < 5
    assert process.returncode == code
    assert find_leftovers(tmp_path) == []
    assert flow_states(tmp_path) == ["Cancelled"]
    assert "digsite resume" in stderr
    assert "Traceback" not in stderr
    assert "ERROR" not in stderr
