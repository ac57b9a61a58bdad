"""The server of a command: it dies with its parent, and says why where it does not start."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.flow.main import in_prefect
from pipeline.flow.server import QUIET

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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Address and password of one server, which the tests that change nothing of it share: its start is long."""
    process = parent(tmp_path_factory.mktemp("server"), "auth")
    _, url, auth = first_line(process)
    assert first_line(process) == ["ready"]
    yield url, auth
    process.communicate()


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


NIGHTS = """
import asyncio, sys
from pathlib import Path
from pipeline.cli.progress import Progress
from pipeline.run.job import Job
from pipeline.errors import BudgetExceeded

from pipeline.flow.generate import generate, read, run
for missing in ("nosuch.toml", "nosuch.json"):
    print("missing", asyncio.run(generate(missing, return_state=True)).message)
print("night", asyncio.run(generate(sys.argv[1])).complete)
settings = read(Path(sys.argv[1]))
try:
    asyncio.run(run(Job(settings, Progress(pairs=1), settings.folder()), Path(sys.argv[1])))
except BudgetExceeded as error:
    print("command", error)
"""


def test_a_used_up_budget_ends_a_night_well_and_a_command_with_its_error_after_an_export(
    server: tuple[str, str], tmp_path: Path
) -> None:
    settings = tmp_path / "night.toml"
    how = f'how = {{out = "{tmp_path}", pairs = 900, budget_tokens = 60000}}'
    settings.write_text(f'corpus.name = "tiny"\nretrieval.retriever = "bm25"\n{how}\n')
    own = {"PREFECT_API_URL": server[0], "PREFECT_API_AUTH_STRING": server[1], "PREFECT_HOME": str(tmp_path / "home")}
    env = {**os.environ, **QUIET, **own}
    command = [sys.executable, "-c", NIGHTS, str(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=180)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines()[:2]:
        assert re.fullmatch(r"missing no file of settings at /.*/nosuch.(toml|json): the flow's `config` is .*", line)
    assert not re.search("UsageError|FileNotFoundError", done.stderr)  # it is not raised
    nights = "".join(done.stdout.splitlines(keepends=True)[2:])
    assert re.fullmatch(r"night False\ncommand the budget is used up: .* --budget-tokens; .*\n", nights)
    assert {"dataset", "report.html"} <= {path.name for path in (tmp_path / "tiny/latest").iterdir()}


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
