"""The openai SDK's client of one endpoint.

It limits the size of an answer, whatever its status or compression, and sends only the headers in this file. It finds
the path at which the API begins. Retries, rate limits and the reading of answers are elsewhere.
"""

import logging
import os
import re
import ssl
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

import httpx2
import openai
import orjson
from openai import AsyncOpenAI

from pipeline.config.endpoints import context_from_environment, fill_values
from pipeline.config.models import ModelConfig
from pipeline.text.redact import remove_secret

logger = logging.getLogger(__name__)
# httpx2 logs every URL, with the secrets that its query may contain.
logging.getLogger("httpx2").addFilter(lambda record: record.levelno > logging.INFO)

MOST_BYTES, MOST_ERROR_BYTES = 4 << 20, 64 << 10
"""The largest answer after decompression, and the largest with an error status."""
CONNECT_SECONDS = 10.0
_ACCOUNT = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}
"""Headers of OpenAI's own endpoint, and the environment variables with their values."""
_STANDARD_HEADERS = {"accept", "connection", "content-length", "host"}
_CALL = re.compile(r"/(?:chat/completions|completions|responses|models|embeddings)$")
"""The end of an address that a user copied with the path of an API call."""
_VERSION = re.compile(r"/v\d\w*(?:/|$)")
_API_PATHS = ("/v1", "/api/v1", "/openai/v1")
"""Where the API of a server may begin, if not at the configured address."""


class Connections:
    """The clients of one event loop for one endpoint. Each call in flight has a client with a single connection.

    A single client with a large pool makes a system call for each idle connection at the start and end of a call.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._ssl = trusted_certificates()
        self._idle: list[AsyncOpenAI] = []
        self._base: str | None = None
        """Where the API begins, known after the first successful answer."""

    async def ask(self, path: str, tree: dict[str, Any] | None = None) -> httpx2.Response:
        """Send a POST of the tree, or a GET if there is none, and return the answer with its body read.

        There is no time limit here. Raises TimeoutError, and ConnectionError without secrets in its message.
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
                # A concurrent call may have set and logged it already.
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
        """Shorten text of a server or library for a user: one line without escapes and secrets."""
        for name, secret in self._config.secrets():
            text = remove_secret(text, secret, f"[{name}]")
        return " ".join(remove_secret(text, "", "").split())[:300]

    async def aclose(self) -> None:
        for client in self._idle:
            await client.close()

    @contextmanager
    def _client(self) -> Iterator[AsyncOpenAI]:
        # The connection of the last used client is the least likely to be closed.
        client = self._idle.pop() if self._idle else self._create_client()
        try:
            yield client
        finally:
            self._idle.append(client)

    def _create_client(self) -> AsyncOpenAI:
        headers, query = _headers(self._config), fill_values(self._config.query)

        async def finish(request: httpx2.Request) -> None:
            # Set headers and query here, since the SDK would log them.
            for name in request.headers.keys() - _STANDARD_HEADERS:
                del request.headers[name]
            request.headers.update(headers)
            request.url = request.url.copy_merge_params(query)

        return AsyncOpenAI(
            # The SDK requires a key; `finish` sets the real one.
            api_key="none",
            # Without these, the SDK would send the values in the environment to every endpoint.
            organization="",
            project="",
            base_url=self._config.base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(
                verify=self._ssl,
                # The second connection is for the time while the first is being closed.
                limits=httpx2.Limits(max_connections=2, max_keepalive_connections=1),
                timeout=httpx2.Timeout(self._config.limits.timeout_seconds, connect=CONNECT_SECONDS),
                follow_redirects=False,
                # Use the environment's proxies, except for servers on this machine.
                trust_env=not self._config.loopback,
                event_hooks={"request": [finish], "response": [limit_body(MOST_BYTES, MOST_ERROR_BYTES)]},
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
    """Return whether the answer means that no API is there: 404, 405, or a page or error with status 200."""
    if answer.is_success:
        return b'"choices"' not in answer.content and b'"data"' not in answer.content
    return answer.status_code in (404, 405)


def trusted_certificates() -> ssl.SSLContext:
    """Return the trusted certificates. Raise UsageError if the environment names a file that cannot be read."""
    return context_from_environment() or _default_certificates()


@cache
def _default_certificates() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


def limit_body(most: int, most_error: int) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a response hook that reads and decompresses an answer before the client does.

    It reads at most `most` bytes, or `most_error` if the status is an error, plus one, which shows that an answer is
    longer.
    """

    async def read(response: httpx2.Response) -> None:
        stream = cast(httpx2.AsyncByteStream, response.stream)
        limit = most if response.is_success else most_error
        body = await _read(stream, response.headers.pop("content-encoding", "identity"), limit)
        await stream.aclose()
        response.stream = httpx2.ByteStream(body)
        # The SDK decodes an error with the charset that the server names, and Python has a codec called bz2.
        response.encoding = "utf-8"

    return read


async def _read(stream: httpx2.AsyncByteStream, coding: str, most: int) -> bytes:
    """Return the body, cut to one byte more than `most`, or nothing if it cannot be decompressed.

    The client's own decoders decompress each chunk as a whole, and 64 kB can expand to 64 MB.
    """
    coding = coding.strip().lower()
    if coding not in ("identity", "gzip", "x-gzip"):
        return b""
    decompressor = None if coding == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 16)
    body = bytearray()
    async for chunk in stream:
        try:
            body += decompressor.decompress(chunk, most + 1 - len(body)) if decompressor else chunk
        except zlib.error:
            return b""
        if len(body) > most or (decompressor and decompressor.eof):
            break
    return bytes(body[: most + 1])
