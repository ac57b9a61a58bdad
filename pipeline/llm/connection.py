"""HTTP with one endpoint: a bounded number of bytes of an answer, whatever its status or compression, and nothing that
the endpoint was not meant to see.

Retries, limits and the meaning of an answer are others' part.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2
import orjson

from pipeline.llm.settings import ModelConfig

MOST_BYTES, MOST_ERROR_BYTES = 4 << 20, 64 << 10
"""Of one answer after decompression, and of one with an error status."""
CONNECT_SECONDS = 10.0
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Headers of OpenAI's own endpoint, and the environment variables that they are read from."""


class Answer(NamedTuple):
    status: int
    headers: httpx2.Headers
    body: bytes
    whole: bool
    """False where the body was longer than is read of one."""


class Connections:
    """What one event loop asks an endpoint through: a client with one connection for each call in flight.

    A pool of many connections looks at all its idle ones, by a system call each, when a call begins and when it ends.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._ssl = httpx2.create_ssl_context()
        self._idle: list[httpx2.AsyncClient] = []

    @contextmanager
    def client(self) -> Iterator[httpx2.AsyncClient]:
        """One that no other call uses, the last used first: its connection is the least likely to be closed."""
        client = self._idle.pop() if self._idle else self._opened()
        try:
            yield client
        finally:
            self._idle.append(client)

    def _opened(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=_headers(self._config),
            verify=self._ssl,
            # The second one while the first is being closed.
            limits=httpx2.Limits(max_connections=2, max_keepalive_connections=1),
            timeout=httpx2.Timeout(self._config.limits.timeout_seconds, connect=CONNECT_SECONDS),
            # The endpoint that was configured, and no other that it names.
            follow_redirects=False,
            # The proxies of the environment, but not for what is on this machine.
            trust_env=not self._config.loopback,
        )


def _headers(config: ModelConfig) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip", "User-Agent": "digsite"}
    if key := config.key():
        headers["Authorization"] = f"Bearer {key}"
    if config.at_openai:
        headers |= {header: value for header, name in _ACCOUNT.items() if (value := os.environ.get(name, "").strip())}
    return headers


async def ask(client: httpx2.AsyncClient, url: str, tree: dict[str, Any] | None = None) -> Answer:
    """The answer to a POST of the tree, or to a GET without one. Raises httpx2.HTTPError; bounds no time."""
    content = None if tree is None else orjson.dumps(tree)
    async with client.stream("GET" if tree is None else "POST", url, content=content) as response:
        most = MOST_BYTES if response.is_success else MOST_ERROR_BYTES
        body = await _read(response, most)
        return Answer(response.status_code, response.headers, body[:most], len(body) <= most)


async def _read(response: httpx2.Response, most: int) -> bytes:
    """At most one byte more than `most`; nothing where it cannot be decompressed.

    The client's own decoders unpack every chunk whole: 64 kB of one can hold 64 MB.
    """
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        return b""
    unpack = None if coding == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 16)
    got = bytearray()
    async for chunk in response.aiter_raw():
        try:
            got += unpack.decompress(chunk, most + 1 - len(got)) if unpack else chunk
        except zlib.error:
            return b""
        if len(got) > most:
            break
    return bytes(got[: most + 1])
