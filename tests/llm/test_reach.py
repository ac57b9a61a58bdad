"""A missing endpoint is reported at once, one that is loading is waited for, and keys go only where they belong."""

import asyncio
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pipeline.config import build
from pipeline.config.models import ModelConfig
from pipeline.errors import ProviderError, UsageError
from pipeline.llm import reach
from pipeline.llm.openai import OpenAIModel
from pipeline.llm.reach import Reached
from tests.chaos.faulty_server import FaultyServer, Reply
from tests.llm.wire import GOOD, KEY, REQUEST


@pytest.fixture(autouse=True)
def set_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def make_model(url: str, **fields: Any) -> ModelConfig:
    return ModelConfig(provider="openai", model="m", base_url=url, **fields)


@contextmanager
def start_silent_server() -> Iterator[str]:
    """Yield the address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def get_closed_address() -> str:
    with start_silent_server() as url:
        return url


async def expect_refusal(config: ModelConfig, wait: float = 0.0) -> tuple[str, float]:
    began = time.monotonic()
    with pytest.raises(ProviderError) as caught:
        await reach.reach(config, wait)
    assert caught.value.then == "stop"
    return str(caught.value), time.monotonic() - began


@pytest.mark.slow
async def test_a_dead_endpoint_is_reported_within_five_seconds() -> None:
    with start_silent_server() as url:
        for address in (get_closed_address(), url, "http://nosuch.invalid/v1"):
            line, seconds = await expect_refusal(make_model(address))
            assert seconds < 5
            assert address in line
            assert "--wait SECONDS" in line
            assert "\n" not in line


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_server_that_is_loading_is_waited_for(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "_AGAIN", 0.02)
    async with FaultyServer() as server:
        ready, server.models = server.models, Reply(status, b'{"error": {"message": "Loading model"}}')
        line, _ = await expect_refusal(make_model(server.url), wait=0.1)
        assert f"answered {status}" in line
        waiting = asyncio.create_task(reach.reach(make_model(server.url), 30.0))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        server.models = ready
        await asyncio.wait_for(waiting, 5)


async def test_a_server_that_does_not_listen_yet_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reach, "_AGAIN", 0.02)
    address = get_closed_address()
    waiting = asyncio.create_task(reach.reach(make_model(address), 30.0))
    async with asyncio.timeout(10):
        while "waiting for it" not in caplog.text:
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)
    assert not waiting.done()
    assert len([r for r in caplog.records if "waiting for it" in r.message]) == 1

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", int(address.split(":")[2].split("/")[0])):
        await asyncio.wait_for(waiting, 5)


async def test_a_refused_key_is_reported_at_once_whatever_the_wait() -> None:
    async with FaultyServer() as server:
        server.models = Reply(401, KEY.encode())
        line, seconds = await expect_refusal(make_model(server.url, api_key_env="OPENAI_API_KEY"), wait=60)
        assert "environment variable OPENAI_API_KEY" in line
        assert KEY not in line
        assert "needs a key" in (await expect_refusal(make_model(server.url)))[0]
    assert seconds < 5


@pytest.mark.parametrize(
    "answer",
    [Reply(404), Reply(403), Reply(500), Reply(200, b"[]"), Reply(401, b'{"error": "Missing scopes: api.model.read"}')],
)
async def test_a_server_that_does_not_list_its_models_may_still_answer(answer: Reply) -> None:
    async with FaultyServer() as server:
        server.models = answer
        await reach.reach(make_model(server.url), 0.0)


async def test_the_endpoint_is_probed_once_before_the_first_call() -> None:
    async with FaultyServer(script=lambda number, body: GOOD) as server:
        config = make_model(server.url)
        llm = Reached(OpenAIModel(config, 0), config, 0.0)
        await asyncio.gather(*(llm.complete(REQUEST) for _ in range(8)))
        server.models = Reply(503)
        await llm.complete(REQUEST)
    config = make_model(get_closed_address())
    with pytest.raises(ProviderError, match="cannot be reached") as caught:
        await Reached(OpenAIModel(config, 0), config, 0.0).complete(REQUEST)
    assert caught.value.then == "stop"


@pytest.mark.parametrize(
    ("url", "variable", "sent"),
    [
        ("https://api.openai.com/v1", "", "OPENAI_API_KEY"),
        ("https://eu.api.openai.com/v1", "", "OPENAI_API_KEY"),
        ("http://api.openai.com/v1", "", ""),
        ("https://api.openai.com.evil.example/v1", "", ""),
        ("https://evilapi.openai.com.example/v1", "", ""),
        ("https://notapi.openai.com/v1", "", ""),
        ("https://openrouter.ai/api/v1", "", ""),
        ("http://localhost:8000/v1", "", ""),
        ("http://127.0.0.1:8000/v1", "THE_KEY", "THE_KEY"),
        ("https://openrouter.ai/api/v1", "OPENAI_API_KEY", "OPENAI_API_KEY"),
    ],
)
def test_openais_key_is_sent_to_openai_alone_unless_it_is_named(url: str, variable: str, sent: str) -> None:
    config = make_model(url, api_key_env=variable)
    assert config.key_name == sent
    assert config.key() == (KEY if sent == "OPENAI_API_KEY" else "")


async def test_openais_account_headers_are_sent_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-canary")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-canary")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "admin-canary")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: canary\nauthorization: canary\naccept-encoding: br")
    monkeypatch.setenv("THE_KEY", "sk-theirs")
    async with FaultyServer(script=lambda number, body: GOOD) as server:
        await OpenAIModel(make_model(server.url), 0).complete(REQUEST)
        await OpenAIModel(make_model(server.url, api_key_env="THE_KEY"), 0).complete(REQUEST)
    assert "canary" not in str(server.headers)
    assert "stainless" not in str(server.headers)
    assert [headers.get("authorization") for headers in server.headers] == [None, "Bearer sk-theirs"]
    assert server.headers[0]["accept-encoding"] == "gzip"


async def test_openai_gets_the_account_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelConfig, "at_openai", True)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-canary\n")
    async with FaultyServer(script=lambda number, body: GOOD) as server:
        await OpenAIModel(make_model(server.url), 0).complete(REQUEST)
    (headers,) = server.headers
    assert (headers["openai-organization"], headers["authorization"]) == ("org-canary", f"Bearer {KEY}")
    assert "openai-project" not in headers


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_local_server_is_never_asked_through_a_proxy(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, get_closed_address())
    async with FaultyServer(script=lambda number, body: GOOD) as server:
        config = make_model(server.url.replace("127.0.0.1", host), api_key_env="OPENAI_API_KEY")
        await reach.reach(config, 0.0)
        await OpenAIModel(config, 0).complete(REQUEST)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("url", "variable", "message"),
    [
        ("http://gpu-box:8000/v1", "OPENAI_API_KEY", "unencrypted"),
        ("https://openrouter.ai/api/v1", "", "--set models.default.api_key_env="),
        ("https://openrouter.ai/api/v1", "OPENAI_API_KEY", ""),
        ("http://127.0.0.2:8000/v1", "OPENAI_API_KEY", ""),
        ("http://[::1]:8000/v1", "", ""),
    ],
)
async def test_a_key_sent_unencrypted_or_held_back_is_reported(
    url: str, variable: str, message: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def find_no_problem(*_: object) -> str:
        return ""

    monkeypatch.setattr(reach, "_find_problem", find_no_problem)
    with caplog.at_level(logging.WARNING):
        await reach.reach(make_model(url, api_key_env=variable), 0.0)
    assert message in caplog.text
    assert len(caplog.records) == bool(message)
    assert KEY not in caplog.text


@pytest.mark.parametrize("url", ["http://localhost:99999999/v1", "http://localhost:x/v1"])
def test_an_invalid_port_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match=r"models\.default\.base_url"):
        build(values={"models": {"default": {"provider": "openai", "base_url": url}}})
