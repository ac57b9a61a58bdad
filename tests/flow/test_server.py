"""The server of a command: it dies with its parent, and says why where it does not start."""

import base64
import json
import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.flow.main import in_prefect
from tests.flow.conftest import first_line, parent


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


def asked(url: str, method: str, data: bytes | None = None, **headers: str) -> tuple[int, str, bytes]:
    """The status, which origin may read the answer, and the answer."""
    given = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(url, data, given, method=method)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
            return answer.status, answer.headers.get("Access-Control-Allow-Origin", ""), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Access-Control-Allow-Origin", ""), error.read()


def test_it_answers_nobody_but_the_command(server: tuple[str, str]) -> None:
    url, auth = server
    ours = {"Authorization": "Basic " + base64.b64encode(auth.encode()).decode()}
    evil = {"Origin": "http://evil.example"}
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    for method, path, data in (("GET", "/admin/settings", None), ("POST", "/flow_runs/filter", b"{}")):
        status, origin, answer = asked(url + path, method, data, **evil)
        assert (status, origin, b"home" in answer) == (401, "", False)
        status, origin, answer = asked(url + path, method, data, **ours, Host="evil.example")
        assert (status, origin, b"home" in answer) == (400, "", False)
        assert asked(url + path, method, data, **ours)[0] == 200
        assert asked(url + path, method, data, **ours, **evil)[1] == ""
    assert asked(url + "/flow_runs/filter", "OPTIONS", None, **evil, **preflight)[:2] == (400, "")


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


@pytest.fixture
def starting(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders of the servers that were started, for a command that must not wait until one answers."""
    started: list[Path] = []
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr("pipeline.flow.server.Server.start", lambda server: started.append(server._home))
    monkeypatch.setattr("pipeline.flow.server.Server.wait", lambda *_: pytest.fail("it was waited for"))
    return started


@pytest.mark.parametrize("given", [{"field": "typo", "text": "A long text."}, {"field": "text", "text": "Short."}])
def test_a_mistake_in_the_corpus_is_told_while_it_starts(
    tmp_path: Path, starting: list[Path], capsys: pytest.CaptureFixture[str], given: dict[str, str]
) -> None:
    corpus = tmp_path / "mine.jsonl"
    corpus.write_text(json.dumps({"text": given["text"]}))
    command = ["generate", str(corpus), "--text-field", given["field"], "--out", str(tmp_path / "outputs")]
    with pytest.raises(SystemExit) as ended:
        main(command, runner=in_prefect)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("digsite: ")]
    assert (ended.value.code, len(told), starting) == (2, 1, [tmp_path / "outputs/.prefect"])
    # A corpus that could be read stays prepared.
    assert {path.name for path in (tmp_path / "outputs").glob("*")} <= {"corpora"}


def test_changed_texts_are_refused_while_it_starts(
    tmp_path: Path, starting: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """And before they are indexed."""
    corpus = tmp_path / "mine.jsonl"
    command = ["generate", str(corpus), "--retriever", "bm25", "--seeds", "1", "--out", str(tmp_path / "outputs")]
    text = "The Kessel Bridge is a steel arch bridge in Ostrand. It was designed by Ada Brannick and opened in 1936. "
    for times in (3, 4):
        corpus.write_text(json.dumps({"title": "Kessel Bridge", "text": text * times}))
        with pytest.raises(SystemExit) as ended:
            main([*command, *(["--no-flow"] if times == 3 else [])], runner=in_prefect)
        assert ended.value.code == (0 if times == 3 else 2)
    assert len(starting) == 1
    assert "was made with another corpus (its texts)" in capsys.readouterr().err


def test_a_server_that_does_not_answer_is_told_before_the_corpus_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    monkeypatch.setattr("pipeline.run.prepare.load", lambda *_: pytest.fail("it was read"))
    with pytest.raises(SystemExit) as ended:
        main(["generate", "tiny", "--out", str(tmp_path / "outputs")], runner=in_prefect)
    assert (ended.value.code, "PREFECT_API_URL" in capsys.readouterr().err) == (2, True)
    assert list(tmp_path.iterdir()) == []
