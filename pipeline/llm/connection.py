"""The openai SDK's client at one endpoint. It reads a bounded number of bytes of an answer, whatever its status or
compression, and sends no header but those named here.

Retries, limits and the meaning of an answer are elsewhere.
"""

import os
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import httpx2
import openai
import orjson
from openai import AsyncOpenAI

from pipeline.config.models import ModelConfig
from pipeline.text.redact import without

MOST_BYTES, MOST_ERROR_BYTES = 4 << 20, 64 << 10
"""The largest answer after decompression, and the largest with an error status."""
CONNECT_SECONDS = 10.0
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Headers of OpenAI's own endpoint, and the environment variables that they are read from."""
_PLAIN = {"accept", "connection", "content-length", "host"}


class Connections:
    """The clients of one event loop for one endpoint: one with a single connection for each call in flight.

    One client with a pool of many connections makes a system call for each idle one at the start and end of a call.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._ssl = httpx2.create_ssl_context()
        self._idle: list[AsyncOpenAI] = []

    async def ask(self, path: str, tree: dict[str, Any] | None = None) -> httpx2.Response:
        """The answer, read, to a POST of the tree, or to a GET without one. Has no time limit of its own. Raises
        TimeoutError, or ConnectionError without the key.

        The SDK's typed methods would walk every message of a body that is in its final form already.
        """
        try:
            with self._client() as client:
                if tree is None:
                    return await client.get(path, cast_to=httpx2.Response)
                return await client.post(path, content=orjson.dumps(tree), cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            return error.response
        except openai.APITimeoutError:
            raise TimeoutError from None
        except (openai.OpenAIError, httpx2.InvalidURL, ValueError) as error:
            cause = error.__cause__ or error
            raise ConnectionError(self.clean(str(cause) or type(cause).__name__)) from None

    def clean(self, text: str) -> str:
        """Text of a server or library for a user: one short line without escapes and without the key."""
        return " ".join(without(text, self._config.key(), f"[{self._config.key_name}]").split())[:300]

    async def aclose(self) -> None:
        for client in self._idle:
            await client.close()

    @contextmanager
    def _client(self) -> Iterator[AsyncOpenAI]:
        """One that no other call uses; the last used first, since its connection is the least likely to be closed."""
        client = self._idle.pop() if self._idle else self._opened()
        try:
            yield client
        finally:
            self._idle.append(client)

    def _opened(self) -> AsyncOpenAI:
        headers = _headers(self._config)
        sent = _PLAIN | {name.lower() for name in headers}

        async def drop_others(request: httpx2.Request) -> None:
            for name in request.headers.keys() - sent:
                del request.headers[name]

        return AsyncOpenAI(
            # The SDK needs one; where there is none, `drop_others` drops its header.
            api_key=self._config.key() or "none",
            # The SDK would send those of the environment to every endpoint.
            organization="",
            project="",
            default_headers=headers,
            base_url=self._config.base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(
                verify=self._ssl,
                # The second is for the time in which the first is being closed.
                limits=httpx2.Limits(max_connections=2, max_keepalive_connections=1),
                timeout=httpx2.Timeout(self._config.limits.timeout_seconds, connect=CONNECT_SECONDS),
                follow_redirects=False,
                # Use the proxies of the environment, but not for this machine.
                trust_env=not self._config.loopback,
                event_hooks={"request": [drop_others], "response": [bounded(MOST_BYTES, MOST_ERROR_BYTES)]},
            ),
        )


def _headers(config: ModelConfig) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip", "User-Agent": "digsite"}
    if key := config.key():
        headers["Authorization"] = f"Bearer {key}"
    if config.at_openai:
        headers |= {header: value for header, name in _ACCOUNT.items() if (value := os.environ.get(name, "").strip())}
    return headers


def bounded(most: int, most_error: int) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A response hook that reads and decompresses an answer before anyone else does, up to one byte beyond `most`, or
    beyond `most_error` where its status is an error, so that a longer one can be recognised."""

    async def read(response: httpx2.Response) -> None:
        raw = cast(httpx2.AsyncByteStream, response.stream)
        limit = most if response.is_success else most_error
        body = await _read(raw, response.headers.pop("content-encoding", "identity"), limit)
        await raw.aclose()
        response.stream = httpx2.ByteStream(body)
        # The SDK decodes an error by the charset that the server names, and Python has one called bz2.
        response.encoding = "utf-8"

    return read


async def _read(raw: httpx2.AsyncByteStream, coding: str, most: int) -> bytes:
    """At most one byte more than `most`; nothing where it cannot be decompressed.

    The client's own decoders decompress every chunk whole: 64 kB can hold 64 MB.
    """
    coding = coding.strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        return b""
    unpack = None if coding == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 16)
    got = bytearray()
    async for chunk in raw:
        try:
            got += unpack.decompress(chunk, most + 1 - len(got)) if unpack else chunk
        except zlib.error:
            return b""
        if len(got) > most or (unpack and unpack.eof):
            break
    return bytes(got[: most + 1])
