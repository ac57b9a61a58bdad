"""The openai SDK's client at one endpoint.

It reads a bounded number of bytes of an answer, whatever its status or compression, and sends only the headers that are
named here. It finds out where below the address the API begins. Retries, limits and the meaning of an answer are
elsewhere.
"""

import logging
import os
import re
import ssl
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import httpx2
import openai
import orjson
from openai import AsyncOpenAI

from pipeline.config.certificates import context_from_environment
from pipeline.config.models import ModelConfig
from pipeline.config.request_values import fill_values
from pipeline.text.redact import remove_secret

logger = logging.getLogger(__name__)
# It logs every URL, with the secrets that a query may hold.
logging.getLogger("httpx2").addFilter(lambda record: record.levelno > logging.INFO)

MOST_BYTES, MOST_ERROR_BYTES = 4 << 20, 64 << 10
"""The largest answer after decompression, and the largest with an error status."""
CONNECT_SECONDS = 10.0
_ACCOUNT = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}
"""Headers of OpenAI's own endpoint, and the environment variables that they are read from."""
_PLAIN = {"accept", "connection", "content-length", "host"}
_CALL = re.compile(r"/(?:chat/completions|completions|responses|models|embeddings)$")
"""The end of an address that a user copied with the path of one call."""
_VERSION = re.compile(r"/v\d\w*(?:/|$)")
_API_PATHS = ("/v1", "/api/v1", "/openai/v1")
"""Where the API of a server begins, if not at the given address."""


class Connections:
    """The clients of one event loop for one endpoint: one with a single connection for each call in flight.

    One client with a pool of many connections makes a system call for each idle one at the start and end of a call.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._ssl = trusted_certificates()
        self._idle: list[AsyncOpenAI] = []
        self._base: str | None = None
        """Where the API begins, once an answer has shown it."""

    async def ask(self, path: str, tree: dict[str, Any] | None = None) -> httpx2.Response:
        """Send a POST of the tree, or a GET without one, and return the answer, fully read.

        Has no time limit of its own. Raises TimeoutError, and ConnectionError without secrets.
        """
        if self._base is None:
            return await self._ask_and_find_base(path, tree)
        return await self._send(self._base + path, tree)

    async def _ask_and_find_base(self, path: str, tree: dict[str, Any] | None) -> httpx2.Response:
        configured = self._config.base_url
        start = _CALL.sub("", configured)
        answers = []
        for api_path in ("",) if _VERSION.search(start) else ("", *_API_PATHS):
            answer = await self._send(start + api_path + path, tree)
            if not _has_no_api(answer):
                # Calls in flight at the same time find the same.
                if answer.is_success and self._base is None:
                    self._base = start + api_path
                    if self._base != configured:
                        logger.warning("%s is not where the API begins: it is asked at %s", configured, self._base)
                return answer
            answers.append(answer)
        return answers[0]

    async def _send(self, url: str, tree: dict[str, Any] | None) -> httpx2.Response:
        # The SDK's typed methods would walk every message of a body that is in its final form already.
        try:
            with self._client() as client:
                if tree is None:
                    return await client.get(url, cast_to=httpx2.Response)
                return await client.post(url, content=orjson.dumps(tree), cast_to=httpx2.Response)
        except openai.APIStatusError as error:
            return error.response
        except openai.APITimeoutError:
            raise TimeoutError from None
        except (openai.OpenAIError, httpx2.InvalidURL, ValueError) as error:
            cause = error.__cause__ or error
            line = self.clean(str(cause) or type(cause).__name__)
            if "CERTIFICATE_VERIFY_FAILED" in line:
                line += "; SSL_CERT_FILE or REQUESTS_CA_BUNDLE can name the file of your own certificate authority"
            raise ConnectionError(line) from None

    def clean(self, text: str) -> str:
        """Return text of a server or library for a user: one short line without escapes and without secrets."""
        for name, secret in self._config.secrets():
            text = remove_secret(text, secret, f"[{name}]")
        return " ".join(remove_secret(text, "", "").split())[:300]

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
        headers, query = _headers(self._config), fill_values(self._config.query)

        async def finish(request: httpx2.Request) -> None:
            """Set headers and query only now, since the SDK logs those that it is given."""
            for name in request.headers.keys() - _PLAIN:
                del request.headers[name]
            request.headers.update(headers)
            request.url = request.url.copy_merge_params(query)

        return AsyncOpenAI(
            # The SDK needs one; `finish` sends the real one.
            api_key="none",
            # The SDK would send those of the environment to every endpoint.
            organization="",
            project="",
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
                event_hooks={"request": [finish], "response": [bounded(MOST_BYTES, MOST_ERROR_BYTES)]},
            ),
        )


def _headers(config: ModelConfig) -> dict[str, str]:
    headers = {"content-type": "application/json", "accept-encoding": "gzip", "user-agent": "digsite"}
    if key := config.key():
        headers["authorization"] = f"Bearer {key}"
    if config.at_openai:
        headers |= {header: value for header, name in _ACCOUNT.items() if (value := os.environ.get(name, "").strip())}
    return headers | fill_values(config.headers)


def _has_no_api(answer: httpx2.Response) -> bool:
    """Return whether the answer is what a server says where it has no API: 404, 405, or a page or error as a 200."""
    if answer.is_success:
        return b'"choices"' not in answer.content and b'"data"' not in answer.content
    return answer.status_code in (404, 405)


def trusted_certificates() -> ssl.SSLContext:
    """Return what certificates are checked against. Raise UsageError if the environment names none that can be read."""
    return context_from_environment() or httpx2.create_ssl_context(trust_env=False)


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
