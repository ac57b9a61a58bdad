"""The SDK's own client, over both transports and both eras of the protocol, gets the bytes that the rollouts saw."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.corpus import Corpus
from pipeline.errors import RetrievalError
from pipeline.serve.mcp_server import build_server
from pipeline.serve.retrieval_app import Served
from pipeline.types import Hit
from tests.replays import Replay, generate_run, load_trajectories, observed_calls
from tests.server_process import COMMAND, serving

TOOLS = ["search", "open", "find"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = ["--pairs", "3", "--steps", "1-2", "--retriever", "bm25", "--set", "environment.find=true"]
    return generate_run(tmp_path_factory.mktemp("mcp"), "tiny", *options)


@pytest.fixture(scope="module")
def replays(run: Path) -> list[Replay]:
    return list(map(observed_calls, load_trajectories(run)))


@pytest.fixture(scope="module")
def url(run: Path) -> Iterator[str]:
    with serving("serve", "tiny/latest", "--out", run, "--mcp") as (_, address):
        yield address


def _connect_stdio(run: Path, mode: str) -> Client:
    arguments = ["-m", "pipeline.cli", "serve", "tiny/latest", "--out", str(run), "--mcp"]
    return Client(stdio_client(StdioServerParameters(command=sys.executable, args=arguments)), mode=mode)


async def _call(client: Client, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    answer = await client.call_tool(name, arguments)
    assert isinstance(answer, CallToolResult)
    (content,) = answer.content
    assert content.type == "text"
    return content.text, answer.is_error


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_client_sees_what_the_rollouts_saw(
    run: Path, url: str, replays: list[Replay], transport: str, mode: str
) -> None:
    async def replay() -> None:
        async with Client(url, mode=mode) if transport == "http" else _connect_stdio(run, mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            for calls, observed in replays:
                answers = [await _call(client, name, json.loads(arguments)) for name, arguments in calls]
                assert answers == [(text, False) for text in observed]

    assert len(replays) >= 12
    asyncio.run(replay())


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("open", {"passage_id": "pfeb7361c2192"}),
    ("find", {"passage_id": "pfeb7361c2192", "words": "steel arch"}),
    ("find", {"passage_id": " pfeb7361c2192 ", "words": "?!"}),
    ("open", {"passage_id": "p000000000000"}),
    ("open", {"passage_id": 7}),
    ("search", {"query": "?!"}),
    ("search", {}),
    ("look", {"query": "bridge"}),
]


def test_every_tool_and_every_mistake_is_answered_as_by_the_http_server(url: str) -> None:
    """`test_retrieval_app` compares `/call` with rollouts that open, find and make mistakes."""

    async def compare() -> None:
        async with Client(url) as client, httpx2.AsyncClient() as http:
            for name, arguments in CALLS:
                body = {"name": name, "arguments": arguments, "shown": ["pfeb7361c2192"]}
                expected = (await http.post(url.replace("/mcp", "/call"), json=body)).json()
                assert await _call(client, name, arguments) == (expected["content"], not expected["ok"])

    asyncio.run(compare())


@pytest.mark.parametrize(
    ("headers", "status"), [({"host": "evil.example"}, 403), ({"origin": "http://evil.example"}, 403), ({}, 200)]
)
def test_other_sites_cannot_call_the_tools(url: str, headers: dict[str, str], status: int) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"accept": "application/json, text/event-stream"}
    assert httpx2.post(url, json=body, headers={**accept, **headers}).status_code == status


def test_a_client_that_waits_for_messages_of_the_server_is_told_that_there_are_none(url: str) -> None:
    assert httpx2.get(url, headers={"accept": "text/event-stream"}).status_code == 405


@pytest.mark.slow
def test_the_server_ends_when_the_client_closes_its_input(run: Path) -> None:
    command = [*COMMAND, "serve", "tiny/latest", "--out", str(run), "--mcp"]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == ["tiny: 41 passages through bm25, k = 5; the client stops it"]


def test_without_the_sdk_a_user_is_told_what_to_install(run: Path) -> None:
    program = "import sys; sys.modules['mcp'] = None; from pipeline.cli import main; main()"
    command = [sys.executable, "-c", program, "serve", "tiny/latest", "--out", str(run), "--mcp"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "pip install 'digsite[mcp]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_search_engine_that_fails_is_an_error_of_one_line_and_no_text_for_the_model(
    tiny: Corpus, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        async def search(self, query: str, k: int) -> list[Hit]:
            raise RetrievalError("the index is gone")

    index = Served(corpus=tiny, retriever=Broken(), environment=environment(RunConfig()), engine="x")  # type: ignore[arg-type]

    async def search() -> None:
        async with Client(build_server(index), mode="legacy") as client:
            with pytest.raises(MCPError, match="the index is gone"):
                await client.call_tool("search", {"query": "bridge"})

    asyncio.run(search())
    assert not caplog.records
