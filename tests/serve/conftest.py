"""An application asked without a network."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter

from pipeline.serve.http_server import create_app

Ask = Callable[..., httpx2.Response]
"""`ask(router, "POST", "/path", json={...})`; `token` is the server's."""


@pytest.fixture
def ask() -> Ask:
    def send_request(router: APIRouter, *request: str, token: str = "", **options: Any) -> Any:
        async def once() -> httpx2.Response:
            transport = httpx2.ASGITransport(app=create_app(router, token))
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(*request, **options)

        return asyncio.run(once())

    return send_request
