"""A page of another site in a real browser can read nothing from the servers on this machine, and change nothing."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import APIRouter, Request

from pipeline.serve.http_server import ServerConfig, create_app, url

pytestmark = pytest.mark.browser
SEND = """async ([address, init]) => {
    try {
        const answer = await fetch(address, init);
        return [answer.type, answer.status, await answer.text()];
    } catch (error) {
        return ["refused"];
    }
}"""


class _Blank(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>another site</title>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def other_site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Blank)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@contextmanager
def json_server(calls: list[str]) -> Iterator[str]:
    """Run a server like `serve` and `serve-model` that records each call to its routes. Yield its address."""
    routes = APIRouter()

    @routes.post("/retrieve")
    @routes.get("/health")
    async def note(request: Request) -> dict[str, str]:
        calls.append(request.method)
        return {"text": "of the corpus"}

    listening = ServerConfig(host="127.0.0.1", port=0, token_env="").bind()
    server = uvicorn.Server(uvicorn.Config(create_app(routes), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield url(listening)
    finally:
        server.should_exit = True
        thread.join(10)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("mode", ["cors", "no-cors"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_a_page_of_another_site_reaches_no_route(chromium: Any, other_site: str, mode: str, kind: str) -> None:
    calls = list[str]()
    with json_server(calls) as address:
        page = chromium.new_page()
        page.goto(other_site)
        init = {"method": "POST", "mode": mode, "body": "{}", "headers": {"Content-Type": kind}}
        for text in (address, address.replace("127.0.0.1", "localhost")):
            assert "of the corpus" not in str(page.evaluate(SEND, [f"{text}/retrieve", init]))
            assert "of the corpus" not in str(page.evaluate(SEND, [f"{text}/health", {"mode": mode}]))
        page.close()
    assert "POST" not in calls


def test_a_page_of_another_site_reads_and_changes_no_run(
    chromium: Any, other_site: str, address: str, places: dict[str, str], runs: list[Path]
) -> None:
    before = [files(folder) for folder in runs]
    page = chromium.new_page()
    page.goto(other_site)
    for path in places.values():
        for mode in ("cors", "no-cors"):
            assert page.evaluate(SEND, [address + path, {"mode": mode}])[1:] in ([], [0, ""])
            init: dict[str, Any] = {"method": "POST", "mode": mode, "body": "verdict=good&reviewer=evil"}
            init["headers"] = {"Content-Type": "application/x-www-form-urlencoded"}
            assert page.evaluate(SEND, [address + path, init])[1:] in ([], [0, ""])
    page.set_content(f'<form method="post" action="{address}{places["judge"]}"><input name="reviewer" value="evil">')
    with page.expect_navigation() as navigation:
        page.evaluate("document.forms[0].submit()")
    assert navigation.value.status == 403
    page.goto(other_site)
    page.set_content(f'<iframe src="{address}{places["items"]}"></iframe>')
    page.wait_for_timeout(500)
    assert page.frames[1].url == "chrome-error://chromewebdata/"
    page.close()
    assert [files(folder) for folder in runs] == before


def test_a_name_that_resolves_to_this_machine_is_not_answered(
    chromium: Any, address: str, places: dict[str, str]
) -> None:
    calls = list[str]()
    with json_server(calls) as served:
        page = chromium.new_page()
        for place in (address + places["items"], f"{served}/health"):
            answer = page.goto(place.replace("127.0.0.1", "evil.example"))
            assert answer.status == 403
            assert "127.0.0.1 and localhost only" in answer.text()
        page.close()
    assert calls == []
