"""An endpoint that is not there is told of at once; one that is still loading is waited for; and no key goes where
nobody meant it to go."""

import asyncio
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest

from pipeline.config import build
from pipeline.config.models import ModelConfig
from pipeline.errors import ProviderError, UsageError
from pipeline.llm import reach
from pipeline.llm.base import Request
from pipeline.llm.openai import OpenAIModel
from pipeline.llm.reach import Reached
from pipeline.types import Message
from tests.chaos.faulty_server import FaultyServer, Reply

REQUEST = Request(model="m", messages=(Message(role="user", content="Who?"),))
GOOD: dict[str, Any] = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
KEY = "sk-canary-8f3a61"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def model(url: str, **more: Any) -> ModelConfig:
    return ModelConfig(provider="openai", model="m", base_url=url, **more)


@contextmanager
def silent() -> Iterator[str]:
    """The address of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def closed() -> str:
    with silent() as url:
        return url


async def refused(config: ModelConfig, wait: float = 0.0) -> tuple[str, float]:
    began = time.monotonic()
    with pytest.raises(ProviderError) as caught:
        await reach.reach(config, wait)
    assert caught.value.then == "stop"
    return str(caught.value), time.monotonic() - began


async def test_a_dead_endpoint_is_told_within_five_seconds() -> None:
    with silent() as url:
        for address in (closed(), url, "http://nosuch.invalid/v1"):
            line, seconds = await refused(model(address))
            assert seconds < 5
            assert address in line
            assert "--wait SECONDS" in line
            assert "\n" not in line


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_server_that_is_loading_is_waited_for(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "_AGAIN", 0.02)
    async with FaultyServer() as server:
        ready, server.models = server.models, Reply(status, b'{"error": {"message": "Loading model"}}')
        line, _ = await refused(model(server.url), wait=0.1)
        assert f"answered {status}" in line
        waiting = asyncio.create_task(reach.reach(model(server.url), 30.0))
        await asyncio.sleep(0.2)
        assert not waiting.done()
        server.models = ready
        await asyncio.wait_for(waiting, 5)


async def test_a_server_that_does_not_listen_yet_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reach, "_AGAIN", 0.02)
    address = closed()
    waiting = asyncio.create_task(reach.reach(model(address), 30.0))
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


async def test_a_key_that_is_refused_is_told_at_once_whatever_the_wait() -> None:
    async with FaultyServer() as server:
        server.models = Reply(401, KEY.encode())
        line, seconds = await refused(model(server.url, api_key_env="OPENAI_API_KEY"), wait=60)
        assert "environment variable OPENAI_API_KEY" in line
        assert KEY not in line
        assert "needs a key" in (await refused(model(server.url)))[0]
    assert seconds < 5


@pytest.mark.parametrize(
    "answer",
    [Reply(404), Reply(403), Reply(500), Reply(200, b"[]"), Reply(401, b'{"error": "Missing scopes: api.model.read"}')],
)
async def test_a_server_that_does_not_list_its_models_may_still_answer(answer: Reply) -> None:
    async with FaultyServer() as server:
        server.models = answer
        await reach.reach(model(server.url), 0.0)


async def test_the_endpoint_is_asked_for_once_before_the_first_call() -> None:
    async with FaultyServer(script=lambda number, body: GOOD) as server:
        config = model(server.url)
        asked = Reached(OpenAIModel(config, 0), config, 0.0)
        await asyncio.gather(*(asked.complete(REQUEST) for _ in range(8)))
        server.models = Reply(503)
        await asked.complete(REQUEST)
    config = model(closed())
    with pytest.raises(ProviderError, match="cannot be reached") as caught:
        await Reached(OpenAIModel(config, 0), config, 0.0).complete(REQUEST)
    assert caught.value.then == "stop"


@pytest.mark.parametrize(
    ("url", "named", "sent"),
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
def test_the_key_of_openai_goes_to_openai_unless_it_is_named(url: str, named: str, sent: str) -> None:
    config = model(url, api_key_env=named)
    assert config.key_name == sent
    assert config.key() == (KEY if sent == "OPENAI_API_KEY" else "")


async def test_no_header_of_openais_account_goes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-canary")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-canary")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "admin-canary")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: canary\nauthorization: canary\naccept-encoding: br")
    monkeypatch.setenv("THE_KEY", "sk-theirs")
    async with FaultyServer(script=lambda number, body: GOOD) as server:
        await OpenAIModel(model(server.url), 0).complete(REQUEST)
        await OpenAIModel(model(server.url, api_key_env="THE_KEY"), 0).complete(REQUEST)
    assert "canary" not in str(server.headers)
    assert "stainless" not in str(server.headers)
    assert [headers.get("authorization") for headers in server.headers] == [None, "Bearer sk-theirs"]
    assert server.headers[0]["accept-encoding"] == "gzip"


async def test_openai_is_told_the_account_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelConfig, "at_openai", True)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-canary\n")
    async with FaultyServer(script=lambda number, body: GOOD) as server:
        await OpenAIModel(model(server.url), 0).complete(REQUEST)
    (headers,) = server.headers
    assert (headers["openai-organization"], headers["authorization"]) == ("org-canary", f"Bearer {KEY}")
    assert "openai-project" not in headers


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_what_is_on_this_machine_is_never_asked_through_a_proxy(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, closed())
    async with FaultyServer(script=lambda number, body: GOOD) as server:
        config = model(server.url.replace("127.0.0.1", host), api_key_env="OPENAI_API_KEY")
        await reach.reach(config, 0.0)
        await OpenAIModel(config, 0).complete(REQUEST)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("url", "named", "said"),
    [
        ("http://gpu-box:8000/v1", "OPENAI_API_KEY", "unencrypted"),
        ("https://openrouter.ai/api/v1", "", "--set models.default.api_key_env="),
        ("https://openrouter.ai/api/v1", "OPENAI_API_KEY", ""),
        ("http://127.0.0.2:8000/v1", "OPENAI_API_KEY", ""),
        ("http://[::1]:8000/v1", "", ""),
    ],
)
async def test_where_a_key_goes_in_the_open_or_stays_away_is_said(
    url: str, named: str, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def there(*_: object) -> str:
        return ""

    monkeypatch.setattr(reach, "_find_problem", there)
    with caplog.at_level(logging.WARNING):
        await reach.reach(model(url, api_key_env=named), 0.0)
    assert said in caplog.text
    assert len(caplog.records) == bool(said)
    assert KEY not in caplog.text


def test_a_role_at_another_server_does_not_take_the_key_along() -> None:
    base = {"provider": "openai", "model": "m", "base_url": "https://one.example/v1", "api_key_env": "ONE_KEY"}
    roles = {
        "judge": {"model": "j", "base_url": "https://two.example/v1"},
        "solver": {"model": "s", "base_url": "https://one.example/other"},
        "teacher": {"model": "t", "base_url": "https://two.example/v1", "api_key_env": "TWO_KEY"},
    }
    models = build(values={"models": {"default": base, **roles}}).models
    assert [models.of(role).api_key_env for role in ("generator", *roles)] == ["ONE_KEY", "", "ONE_KEY", "TWO_KEY"]


@pytest.mark.parametrize("url", ["http://localhost:99999999/v1", "http://localhost:x/v1"])
def test_a_port_that_is_none_is_one_line(url: str) -> None:
    with pytest.raises(UsageError, match=r"models\.default\.base_url"):
        build(values={"models": {"default": orjson.loads(orjson.dumps({"provider": "openai", "base_url": url}))}})
