"""Slow clients do not block others, and memory and log stay small."""

import http.client
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from tests.server_process import serving

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def connect(url: str) -> socket.socket:
    address = httpx2.URL(url)
    return socket.create_connection((address.host, address.port or 0), timeout=10)


def ask(url: str, method: str, path: str, body: bytes | None = None) -> int:
    """Return the status, without the checks that a full client makes first."""
    address = httpx2.URL(url)
    client = http.client.HTTPConnection(address.host, address.port, timeout=20)
    with closing(client):
        client.request(method, path, body)
        return client.getresponse().status


def is_answered(url: str) -> None:
    began = time.monotonic()
    assert ask(url, "GET", "/v1/models") == 200
    assert time.monotonic() - began < 2


def peak_memory(process: subprocess.Popen[str]) -> int:
    """MiB that the process ever held."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) >> 10


@pytest.mark.parametrize("clients", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_unfinished_bodies_take_no_more_than_a_bound_of_memory(clients: int) -> None:
    with serving("serve-model") as (process, url), ExitStack() as open_ones:
        ask(url, "GET", "/v1/models")
        before = peak_memory(process)
        for _ in range(clients):
            client = open_ones.enter_context(connect(url))
            client.sendall(HEAD + b"Content-Length: 16000000\r\n\r\n" + b" " * 15_000_000)
        assert ask(url, "POST", "/v1/chat/completions", b" " * 15_000_000) == 400
        assert peak_memory(process) - before < 160
        is_answered(url)


SHORT = """
from fastapi import APIRouter, Request
from pipeline.serve import bodies, connections, http_server
connections.IDLE_SECONDS = connections.READ_SECONDS = bodies.SECONDS = 0.5

routes = APIRouter()

@routes.post("/")
async def echo(request: Request):
    raw = await request.body()
    return len(raw)

@routes.get("/large")
async def large():
    return "x" * 16_000_000

listening = http_server.ServerConfig(host="127.0.0.1", port=0, token_env="NO_TOKEN").bind()
print(http_server.url(listening), flush=True)
http_server.serve(http_server.create_app(routes), listening)
"""


@contextmanager
def impatient_server() -> Iterator[str]:
    """Run a server that waits half a second, and yield its address."""
    process = subprocess.Popen([sys.executable, "-c", SHORT], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with impatient_server() as address:
        yield address


def read_until_closed(client: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    client.settimeout(4)
    parts = []
    try:
        while part := client.recv(1 << 20):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


WHOLE = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (WHOLE + b"few!", b"200"),
        (WHOLE + b"fe", b"408"),
    ],
)
def test_a_connection_that_waits_is_closed(url: str, sent: bytes, status: bytes) -> None:
    with connect(url) as client:
        client.sendall(sent)
        assert read_until_closed(client)[9:12] == status


@pytest.mark.parametrize("before", [b"", WHOLE + b"few!"], ids=["the first request", "a later request"])
def test_a_head_that_comes_slowly_ends_its_connection(url: str, before: bytes) -> None:
    with connect(url) as client:
        client.sendall(before)
        began = time.monotonic()
        with suppress(ConnectionError):
            for letter in WHOLE * 3:
                client.sendall(bytes([letter]))
                time.sleep(0.1)
        assert time.monotonic() - began < 4


def test_silent_connections_do_not_block_others_for_long(url: str) -> None:
    with ExitStack() as silent:
        for _ in range(1100):
            silent.enter_context(connect(url)).sendall(b"POST / HT")
        deadline, status = time.monotonic() + 20, 503
        while status == 503 and time.monotonic() < deadline:
            status = ask(url, "POST", "/", b"few!")
            time.sleep(0.2)
    assert status == 200


LARGE = 16_000_002


@contextmanager
def request_large_answer(url: str) -> Iterator[socket.socket]:
    """Request a large answer over a connection with a small buffer."""
    address = httpx2.URL(url)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        client.connect((address.host, address.port or 0))
        client.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        yield client


@pytest.mark.slow
def test_an_unread_answer_is_dropped_from_memory(url: str) -> None:
    with request_large_answer(url) as client:
        time.sleep(3)
        assert len(read_until_closed(client)) < LARGE


@pytest.mark.slow
def test_an_answer_that_is_read_slowly_is_read_to_its_end(url: str) -> None:
    with request_large_answer(url) as client:
        size, began = 0, time.monotonic()
        while part := client.recv(1 << 18):
            size += len(part)
            time.sleep(0.02)
        assert time.monotonic() - began > 1
    assert size > LARGE


@pytest.mark.slow
@pytest.mark.parametrize("token", ["", "secret"])
def test_a_client_can_read_that_its_body_is_too_large_or_refused(token: str) -> None:
    environment = {"DIGSITE_TOKEN": token} if token else {}
    with serving("serve-model", environment=environment) as (_, url):
        for _ in range(3):
            request = urllib.request.Request(f"{url}/v1/chat/completions", data=b" " * 18_000_000)
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=60)
            assert refused.value.code == (401 if token else 413)
