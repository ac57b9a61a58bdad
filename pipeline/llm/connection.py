"""The SDK's client at one endpoint, reading a bounded number of bytes of an answer, whatever its status or compression,
and sending nothing that the endpoint was not meant to see.

Retries, limits and the meaning of an answer are others' part.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import httpx2
import openai
import orjson
from openai import AsyncOpenAI

from pipeline.config.models import ModelConfig

MOST_BYTES, MOST_ERROR_BYTES = 4 << 20, 64 << 10
"""Of one answer after decompression, and of one with an error status. One byte more is read, to tell a longer one."""
CONNECT_SECONDS = 10.0
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Headers of OpenAI's own endpoint, and the environment variables that they are read from."""
_PLAIN = {"accept", "connection", "content-length", "host"}


class Connections:
    """What one event loop asks an endpoint through: a client with one connection for each call in flight.

    A pool of many connections looks at all its idle ones, by a system call each, when a call begins and when it ends.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._ssl = httpx2.create_ssl_context()
        self._idle: list[AsyncOpenAI] = []

    async def ask(self, path: str, tree: dict[str, Any] | None = None) -> httpx2.Response:
        """The answer, read, to a POST of the tree, or to a GET without one. Bounds no time. Raises TimeoutError, or
        ConnectionError in the library's words, which may hold the key.

        The SDK's own methods walk every message of the body by its types, which costs more than all else that we do
        for a call; `body` has made what the wire wants already.
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
            raise ConnectionError(str(cause) or type(cause).__name__) from None

    async def aclose(self) -> None:
        for client in self._idle:
            await client.close()

    @contextmanager
    def _client(self) -> Iterator[AsyncOpenAI]:
        """One that no other call uses, the last used first: its connection is the least likely to be closed."""
        client = self._idle.pop() if self._idle else self._opened()
        try:
            yield client
        finally:
            self._idle.append(client)

    def _opened(self) -> AsyncOpenAI:
        headers = _headers(self._config)
        sent = _PLAIN | {name.lower() for name in headers}

        async def cleared(request: httpx2.Request) -> None:
            for name in request.headers.keys() - sent:
                del request.headers[name]

        return AsyncOpenAI(
            # The SDK wants one; where there is none its header is among those that are cleared away.
            api_key=self._config.key() or "none",
            # As `headers` has them, not as the SDK reads them out of the environment for every endpoint.
            organization="",
            project="",
            default_headers=headers,
            base_url=self._config.base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(
                verify=self._ssl,
                # The second one while the first is being closed.
                limits=httpx2.Limits(max_connections=2, max_keepalive_connections=1),
                timeout=httpx2.Timeout(self._config.limits.timeout_seconds, connect=CONNECT_SECONDS),
                # The endpoint that was configured, and no other that it names.
                follow_redirects=False,
                # The proxies of the environment, but not for what is on this machine.
                trust_env=not self._config.loopback,
                event_hooks={"request": [cleared], "response": [_bound]},
            ),
        )


def _headers(config: ModelConfig) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip", "User-Agent": "digsite"}
    if key := config.key():
        headers["Authorization"] = f"Bearer {key}"
    if config.at_openai:
        headers |= {header: value for header, name in _ACCOUNT.items() if (value := os.environ.get(name, "").strip())}
    return headers


async def _bound(response: httpx2.Response) -> None:
    """Read before anyone else does, the SDK that of an error included."""
    raw = cast(httpx2.AsyncByteStream, response.stream)
    most = MOST_BYTES if response.is_success else MOST_ERROR_BYTES
    body = await _read(raw, response.headers.pop("content-encoding", "identity"), most)
    await raw.aclose()
    response.stream = httpx2.ByteStream(body)
    # The SDK decodes an error by the charset that the server names, and Python has one called bz2.
    response.encoding = "utf-8"


async def _read(raw: httpx2.AsyncByteStream, coding: str, most: int) -> bytes:
    """At most one byte more than `most`; nothing where it cannot be decompressed.

    The client's own decoders unpack every chunk whole: 64 kB of one can hold 64 MB.
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
        if len(got) > most:
            break
    return bytes(got[: most + 1])
