"""The Prefect server of a command ends with its parent, and says why if it cannot start."""

import base64
import json
import os
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from pipeline.cli import main
from pipeline.flow.main import run_in_prefect
from pipeline.flow.server import Server
from tests.flow.conftest import Started, first_line, parent


def wait_for_end(pid: int) -> bool:
    for _ in range(100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return True
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_commands_over_one_folder_share_a_server_that_ends_with_the_last(tmp_path: Path) -> None:
    """This holds even if both are killed, the one that started it first."""
    first, second = parent(tmp_path), parent(tmp_path)
    lines = [first_line(process) for process in (first, second)]
    assert lines[0][0] == lines[1][0]
    ((pid,),) = [[int(number) for number in started] for _, *started in lines if started]
    assert [first_line(process) for process in (first, second)] == [["ready"], ["ready"]]
    for process in sorted((first, second), key=lambda candidate: candidate is second, reverse=len(lines[1]) > 1):
        assert (
            request_server(lines[0][0] + "/flow_runs/filter", b"{}", **login((tmp_path / "password").read_text()))[0]
            == 200
        )
        process.kill()
        process.wait()
    assert wait_for_end(pid)


@pytest.mark.parametrize("place", ["environment", "profile"])
def test_a_configured_server_that_does_not_answer_is_reported(tmp_path: Path, place: str) -> None:
    if place == "profile":
        (tmp_path / "profiles.toml").write_text(
            'active = "other"\n[profiles.mine]\nPREFECT_API_URL = "http://127.0.0.1:1/api"\n[profiles.other]\n'
        )
        env = {"PREFECT_HOME": str(tmp_path), "PREFECT_PROFILE": "mine"}
    else:
        env = {"PREFECT_API_URL": "http://127.0.0.1:1/api"}
    process = parent(tmp_path / "home", env)
    line = " ".join(first_line(process))
    assert line.startswith("UsageError no server answers at PREFECT_API_URL")
    process.communicate()
    assert not (tmp_path / "home").exists()


def request_server(url: str, data: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Send a GET, or a POST with data. Return the status and the answer."""
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def login(password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(password.encode()).decode()}


def test_pages_are_served_to_this_machine_only(server: Started) -> None:
    pages, owner = server.url.removesuffix("/api"), login(server.password)
    assert b"<title>Prefect" in request_server(pages)[1]
    ui_settings = json.loads(request_server(pages + "/ui-settings")[1])
    assert (ui_settings["api_url"], ui_settings["auth"]) == (server.url, "BASIC")
    for path, data in (("/admin/settings", None), ("/flow_runs/filter", b"{}")):
        for evil in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
            status, answer = request_server(server.url + path, data, **owner, **evil)
            assert (status, b"home" in answer) == (400, False), (path, evil)
        assert request_server(server.url + path, data, **owner, Origin=pages)[0] == 200
    events = server.url.replace("http", "ws") + "/events/in"
    assert authenticate(events, pages, server.password) == {"type": "auth_success"}
    with pytest.raises(InvalidStatus):
        authenticate(events, "http://evil.example", server.password)


def authenticate(url: str, origin: str, password: str) -> object:
    """Send a password over one of Prefect's web sockets. Return the answer."""
    with connect(url, origin=Origin(origin), subprotocols=[Subprotocol("prefect")], proxy=None) as socket:
        socket.send(json.dumps({"type": "auth", "token": password}))
        return json.loads(socket.recv(timeout=30))


@pytest.mark.slow
def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "prefect.db").write_text("no database")
    process = parent(tmp_path)
    first_line(process)
    line = " ".join(first_line(process))
    assert line.startswith("DigsiteError")
    assert "--no-flow" in line
    assert "Error" in line.partition("It said:")[2]
    process.communicate()


@pytest.fixture
def started_servers(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Record the folders of servers that are started, for commands that must not wait for an answer."""
    started: list[Path] = []

    def begin(server: Server, _: dict[str, str]) -> None:
        server.is_own, server.url = True, "http://127.0.0.1:1/api"
        started.append(server._home)

    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr("pipeline.flow.server.Server.start", begin)
    monkeypatch.setattr("pipeline.flow.server.Server.wait", lambda *_: threading.Event().wait())
    return started


@pytest.mark.parametrize("row", [{"field": "typo", "text": "A long text."}, {"field": "text", "text": "Short."}])
def test_a_mistake_in_the_corpus_is_reported_while_the_server_starts(
    tmp_path: Path, started_servers: list[Path], capsys: pytest.CaptureFixture[str], row: dict[str, str]
) -> None:
    corpus = tmp_path / "mine.jsonl"
    corpus.write_text(json.dumps({"text": row["text"]}))
    command = ["generate", str(corpus), "--text-field", row["field"], "--out", str(tmp_path / "outputs")]
    with pytest.raises(SystemExit) as exit_info:
        main(command, runner=run_in_prefect)
    messages = [line for line in capsys.readouterr().err.splitlines() if line.startswith("digsite: ")]
    assert (exit_info.value.code, len(messages), started_servers) == (2, 1, [tmp_path / "outputs/.prefect"])
    # A corpus that could be read stays prepared.
    assert {path.name for path in (tmp_path / "outputs").glob("*")} <= {"corpora"}


def test_changed_texts_are_refused_while_it_starts(
    tmp_path: Path, started_servers: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """And before they are indexed."""
    corpus = tmp_path / "mine.jsonl"
    command = ["generate", str(corpus), "--retriever", "bm25", "--seeds", "1", "--out", str(tmp_path / "outputs")]
    text = "The Kessel Bridge is a steel arch bridge in Ostrand. It was designed by Ada Brannick and opened in 1936. "
    for times in (3, 4):
        corpus.write_text(json.dumps({"title": "Kessel Bridge", "text": text * times}))
        with pytest.raises(SystemExit) as ended:
            main([*command, "--no-flow"] if times == 3 else ["resume", "mine", *command[-2:]], runner=run_in_prefect)
        assert ended.value.code == (0 if times == 3 else 2)
    assert len(started_servers) == 1
    assert "was made with another corpus (its texts)" in capsys.readouterr().err


def test_a_server_that_does_not_answer_is_told_before_the_corpus_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    monkeypatch.setattr("pipeline.run.prepare.load", lambda *_: pytest.fail("it was read"))
    with pytest.raises(SystemExit) as ended:
        main(["generate", "tiny", "--out", str(tmp_path / "outputs")], runner=run_in_prefect)
    assert (ended.value.code, "PREFECT_API_URL" in capsys.readouterr().err) == (2, True)
    assert list(tmp_path.iterdir()) == []
