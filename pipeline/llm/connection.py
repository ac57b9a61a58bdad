"""The connections to one endpoint. A bounded number of bytes of an answer is read, whatever its status or compression,
and no header is sent but those named here.

Retries, limits and the meaning of an answer are elsewhere.
"""

import os
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, NamedTuple

import httpx2
import orjson

from pipeline.config.models import ModelConfig
from pipeline.text.redact import without

MOST_BYTES, MOST_ERROR_BYTES = 4 << 20, 64 << 10
"""The largest answer after decompression, and the largest with an error status."""
CONNECT_SECONDS = 10.0
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Headers of OpenAI's own endpoint, and the environment variables that they are read from."""


class Answer(NamedTuple):
    status: int
    body: bytes
    """One byte more than may be read of it where it is longer."""
    retry_after: str | None
    """As the header says it."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Connections:
    """The clients of one event loop for one endpoint: one with a single connection for each call in flight.

    One client with a pool of many connections makes a system call for each idle one at the start and end of a call.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._ssl = httpx2.create_ssl_context()
        self._idle: list[httpx2.AsyncClient] = []

    async def ask(self, path: str, tree: dict[str, Any] | None = None) -> Answer:
        """The answer to a POST of the tree, or to a GET without one. Raises TimeoutError, or ConnectionError without
        the key."""
        method, content = ("GET", None) if tree is None else ("POST", orjson.dumps(tree))
        try:
            with self._client() as client:
                return await answer(client.stream(method, path, content=content), MOST_BYTES, MOST_ERROR_BYTES)
        except httpx2.TimeoutException:
            raise TimeoutError from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise ConnectionError(self.clean(str(error) or type(error).__name__)) from None

    def clean(self, text: str) -> str:
        """Text of a server or library for a user: one short line without escapes and without the key."""
        return " ".join(without(text, self._config.key(), f"[{self._config.key_name}]").split())[:300]

    async def aclose(self) -> None:
        for client in self._idle:
            await client.aclose()

    @contextmanager
    def _client(self) -> Iterator[httpx2.AsyncClient]:
        """One that no other call uses; the last used first, since its connection is the least likely to be closed."""
        client = self._idle.pop() if self._idle else self._opened()
        try:
            yield client
        finally:
            self._idle.append(client)

    def _opened(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=self._config.base_url,
            headers=_headers(self._config),
            verify=self._ssl,
            # The second is for the time in which the first is being closed.
            limits=httpx2.Limits(max_connections=2, max_keepalive_connections=1),
            timeout=httpx2.Timeout(self._config.limits.timeout_seconds, connect=CONNECT_SECONDS),
            # Use the proxies of the environment, but not for this machine.
            trust_env=not self._config.loopback,
        )


def _headers(config: ModelConfig) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip", "User-Agent": "digsite"}
    if key := config.key():
        headers["Authorization"] = f"Bearer {key}"
    if config.at_openai:
        headers |= {header: value for header, name in _ACCOUNT.items() if (value := os.environ.get(name, "").strip())}
    return headers


async def answer(call: AbstractAsyncContextManager[httpx2.Response], most: int, most_error: int) -> Answer:
    """The answer to a call, of which `most` bytes may be read, or `most_error` where its status is an error."""
    async with call as response:
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        body = await _read(response.aiter_raw(), coding, most if response.is_success else most_error)
        return Answer(response.status_code, body, response.headers.get("retry-after"))


async def _read(chunks: AsyncIterator[bytes], coding: str, most: int) -> bytes:
    """At most one byte more than `most`; nothing where it cannot be decompressed.

    The client's own decoders decompress every chunk whole: 64 kB can hold 64 MB.
    """
    if coding not in ("identity", "gzip", "x-gzip"):
        return b""
    unpack = None if coding == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 16)
    got = bytearray()
    async for chunk in chunks:
        try:
            got += unpack.decompress(chunk, most + 1 - len(got)) if unpack else chunk
        except zlib.error:
            return b""
        if len(got) > most or (unpack and unpack.eof):
            break
    return bytes(got[: most + 1])
