"""The server checks tokens, hosts and sizes, and answers every mistake in one line."""

import asyncio

import pytest
from fastapi import APIRouter, HTTPException, Request

from pipeline.errors import RetrievalError, UsageError
from pipeline.serve import bodies
from pipeline.serve.http_server import Guard, ServerConfig, create_app
from tests.serve.conftest import Ask

PATHS = APIRouter()


@PATHS.post("/echo")
async def echo(request: Request) -> dict[str, str]:
    return {"heard": (await request.body()).decode()}


@PATHS.post("/broken")
async def broken() -> None:
    raise KeyError("a slip of ours")


@PATHS.post("/fail/{kind}")
async def fail(kind: str) -> None:
    raise {"usage": UsageError("no such\nquestion"), "index": RetrievalError("Lucene failed")}.get(
        kind, HTTPException(418, "\x1b[31mtea\u202e")
    )


def line(answer) -> str:
    return answer.json()["error"]["message"]


def test_a_request_is_answered(ask: Ask) -> None:
    answer = ask(PATHS, "POST", "/echo", content=b"x")
    assert (answer.status_code, answer.json()) == (200, {"heard": "x"})


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/none", 404), ("GET", "/echo", 405)])
def test_a_missing_page_is_one_line(ask: Ask, method: str, path: str, status: int) -> None:
    answer = ask(PATHS, method, path)
    assert answer.status_code == status
    assert line(answer) == f"{method} {path}: not found"


@pytest.mark.parametrize(
    ("kind", "status", "message"),
    [("usage", 400, "no such question"), ("index", 503, "Lucene failed"), ("other", 418, "tea")],
)
def test_an_error_has_its_status_and_one_clean_line(ask: Ask, kind: str, status: int, message: str) -> None:
    answer = ask(PATHS, "POST", f"/fail/{kind}")
    assert (answer.status_code, line(answer)) == (status, message)


def test_a_fault_of_ours_is_one_line_of_the_log(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    answer = ask(PATHS, "POST", "/broken")
    assert (answer.status_code, line(answer)) == (500, "this server broke on the request; see its log")
    assert caplog.messages == ["/broken: KeyError: 'a slip of ours'"]
    assert caplog.records[0].exc_info is None


def test_requests_cut_off_by_a_stop_get_503(ask: Ask) -> None:
    slow = APIRouter()

    @slow.post("/slow")
    async def cancel() -> None:
        raise asyncio.CancelledError

    answer = ask(slow, "POST", "/slow")
    assert (answer.status_code, line(answer)) == (503, "this server is stopping")


def test_a_request_has_a_size(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_BYTES", 2 << 20)
    assert ask(PATHS, "POST", "/echo", content=b"x" * (2 << 20)).status_code == 200
    answer = ask(PATHS, "POST", "/echo", content=b"x" * ((2 << 20) + 1))
    assert (answer.status_code, line(answer)) == (413, "a request may have 2 MiB")


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1", "null", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_page_of_another_site_is_answered(ask: Ask, method: str, origin: str) -> None:
    answer = ask(PATHS, method, "/echo", content=b"x", headers={"Origin": origin, "Content-Type": "text/plain"})
    assert (answer.status_code, line(answer)) == (403, "another site sent this request")


def test_a_page_of_the_server_itself_and_who_has_the_token_are_answered(ask: Ask) -> None:
    headers = {"Origin": "http://127.0.0.1"}
    assert ask(PATHS, "POST", "/echo", content=b"x", headers=headers).status_code == 200
    headers = {"Origin": "http://evil.example", "Authorization": "Bearer secret"}
    assert ask(PATHS, "POST", "/echo", content=b"x", headers=headers, token="secret").status_code == 200


@pytest.mark.parametrize("authorization", [None, "Bearer", "Bearer wrong", "Basic secret", "secret", "Bearer sécret"])
def test_a_missing_or_wrong_token_is_refused(ask: Ask, authorization: str | None) -> None:
    headers = {"Authorization": authorization.encode()} if authorization else {}
    answer = ask(PATHS, "POST", "/echo", content=b"x", token="secret", headers=headers)
    assert answer.status_code == 401
    assert "secret" not in answer.text


@pytest.mark.parametrize("authorization", ["Bearer secret", "bearer  secret"])
def test_the_token_lets_any_client_in(ask: Ask, authorization: str) -> None:
    headers = {"Authorization": authorization, "Host": "search.example.org"}
    assert ask(PATHS, "POST", "/echo", content=b"x", token="secret", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:80", 200),
        ("127.0.0.1", 200),
        ("[::1]:9", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("LOCALHOST", 200),
        ("localhost:80@evil.example", 403),
        ("evil.example#localhost", 403),
        ("localhost/", 403),
        ("localhost:", 403),
        ("localhost:80:80", 403),
        ("127.1", 403),
        ("localhost evil.example", 403),
        ("", 403),
        ("@localhost", 403),
        ("[::1", 403),
        ("[::ffff:1.2.3.4]", 403),
    ],
)
def test_without_a_token_only_a_loopback_name_leads_here(ask: Ask, host: str, status: int) -> None:
    assert ask(PATHS, "POST", "/echo", content=b"x", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org", "10.0.0.1", ""])
def test_beyond_the_loopback_a_token_is_needed(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_TOKEN", raising=False)
    with pytest.raises(UsageError, match="set the environment variable NO_TOKEN to a token"):
        ServerConfig(host=host, port=0, token_env="NO_TOKEN").bind()


def test_what_cannot_be_a_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD", "two words")
    with pytest.raises(UsageError, match="ODD holds no token"):
        ServerConfig(host="127.0.0.1", port=0, token_env="ODD").bind()


def test_a_port_in_use_is_reported() -> None:
    listener = ServerConfig(host="127.0.0.1", port=0, token_env="NO_TOKEN").bind()
    with pytest.raises(UsageError, match=r"cannot listen at 127.0.0.1:\d+ .*choose another --port"):
        ServerConfig(host="127.0.0.1", port=listener.getsockname()[1], token_env="NO_TOKEN").bind()
    listener.close()


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json"])
def test_no_page_loads_scripts_from_elsewhere(ask: Ask, path: str) -> None:
    assert ask(PATHS, "GET", path).status_code == 404


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", None])
def test_a_body_is_json_whatever_the_client_calls_it(ask: Ask, kind: str | None) -> None:
    typed = APIRouter()

    @typed.post("/typed")
    async def length(words: list[str]) -> int:
        return len(words)

    headers = {"Content-Type": kind} if kind else {}
    answer = ask(typed, "POST", "/typed", content=b'["a", "b"]', headers=headers)
    assert (answer.status_code, answer.json()) == (200, 2)


def test_a_body_is_freed_before_its_answer_is_sent() -> None:
    """Otherwise slow readers would use up the memory limit for bodies."""
    guard, body_bytes = Guard(create_app(PATHS), ""), []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"x" * 1000, "more_body": False}

    async def send(message: object) -> None:
        body_bytes.append(guard._bodies._bytes)

    headers = [(b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": "POST", "path": "/echo", "query_string": b"", "headers": headers}
    asyncio.run(guard(scope, receive, send))
    assert body_bytes == [0, 0]
