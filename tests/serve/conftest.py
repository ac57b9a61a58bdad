"""An application asked without a network, and one server that stands."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httpx2
import pytest

from pipeline.serve.door import Door, Endpoint, application

Ask = Callable[..., httpx2.Response]
"""`ask(endpoints, "POST", "/path", json={...})`; `token` is the door's."""


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    def asked(endpoints: Mapping[tuple[str, str], Endpoint], *request: str, token: str = "", **rest: Any) -> Any:
        monkeypatch.setenv("DIGSITE_TEST_TOKEN", token)
        door = Door("127.0.0.1", 0, "DIGSITE_TEST_TOKEN")
        door.socket.close()

        async def once() -> httpx2.Response:
            transport = httpx2.ASGITransport(app=application(door, endpoints))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(*request, **rest)

        return asyncio.run(once())

    return asked
