"""Any server that speaks OpenAI's Chat Completions, behind the contract of every model.

The SDK makes one try: connection, time-outs and headers are its part. Retries and limits are ours, because they must
see every 429; so is the reading of answers, because servers differ in all of it. The key is read from the environment
when a client is made, and nothing that leaves this file holds it.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from weakref import WeakKeyDictionary

import httpx2
import openai
import orjson
from openai import AsyncOpenAI, AsyncStream

from pipeline.llm import reply
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.limiter import Limiter, Slot
from pipeline.llm.refusal import Refusal, Verdict, judged
from pipeline.llm.retry import Failure, Patience, persist, retry_after
from pipeline.llm.settings import ModelConfig
from pipeline.llm.wire import Dialect, body
from pipeline.redact import clean
from pipeline.types import Message

logger = logging.getLogger(__name__)
MOST_BYTES = 4 << 20
"""Of one answer; a longer one counts as cut off."""
_CONNECT = 10.0
_NO_KEY = "none"
"""What servers without keys are sent; the SDK wants something."""


class OpenAIModel:
    """One model at one address, shared by all roles that name it."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self.config = config
        self._seed = run_seed
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()
        self._patience = Patience(config.base_url, config.limits)
        self._without: Dialect = frozenset()
        self._told: set[str] = set()
        self._taken: Dialect = frozenset()

    async def complete(self, request: Request) -> Completion:
        """Raises ProviderError where the endpoint gave no answer in all tries, or refused for good."""
        line = self._line()
        tokens = _guessed(*request.messages)

        async def once(slot: Slot) -> Completion:
            with line.client() as client:
                completion = await self._once(client, request)
            slot.tokens = completion.usage.prompt_tokens + completion.usage.completion_tokens
            return completion

        try:
            return await persist(once, line.limiter, self._patience, tokens=tokens)
        except Failure as failure:
            self._tell(f"{self.config.model} breaks on a request that is left out ({failure})")
            return reply.refused(Finish.CONTENT_FILTER)

    def _line(self) -> "_Line":
        """A client belongs to one event loop: shared between two it hangs."""
        loop = asyncio.get_running_loop()
        if (line := self._lines.get(loop)) is None:
            line = self._lines[loop] = _Line(self.config)
        return line

    async def _once(self, client: AsyncOpenAI, request: Request) -> Completion:
        """One try, or a few where the server refuses parameters: each of those is left out from then on."""
        while True:
            without = self._without
            tree = body(request, self._seed, without)
            try:
                async with asyncio.timeout(self.config.limits.timeout_seconds):
                    raw = await _post(client, tree)
            except openai.APIStatusError as error:
                verdict = judged(self._refusal(error), without, self._taken)
                if verdict.lacks:
                    self._without |= {verdict.lacks}
                    self._tell(f"{self.config.model} is asked without '{verdict.lacks}', which the endpoint refuses")
                    continue
                return self._settled(verdict)
            except (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException):
                raise Failure(f"no answer within {self.config.limits.timeout_seconds:.0f} s") from None
            except (openai.APIConnectionError, httpx2.HTTPError) as error:
                raise Failure(f"the connection broke ({self._plain(error.__cause__ or error)})") from None
            except (openai.OpenAIError, ValueError) as error:
                raise Failure(f"the answer could not be read ({type(error).__name__})") from None
            if raw is None:
                return reply.refused(Finish.LENGTH)
            completion = self._read(raw, request)
            self._taken |= {*tree, *(("strict",) if "tools" in tree else ())}
            return completion

    def _read(self, raw: bytes, request: Request) -> Completion:
        """The answer. Tokens that the server does not tell are guessed: without any no budget or limit would end."""
        try:
            completion = reply.completion(raw)
        except Failure as failure:
            raise Failure(self._plain(failure), failure.kind) from None
        if completion.usage.prompt_tokens:
            return completion
        self._tell(f"{self.config.base_url} tells no tokens; they are counted as a quarter of the characters")
        guessed = {"prompt_tokens": _guessed(*request.messages), "completion_tokens": _guessed(completion.message)}
        return completion.model_copy(update={"usage": completion.usage.model_copy(update=guessed)})

    def _settled(self, verdict: Verdict) -> Completion:
        if verdict.finish is None:
            # Without its cause: the SDK's error holds the server's own words, and those may hold the key.
            raise (verdict.failure or Failure(verdict.said)) from None
        self._tell(verdict.said)
        return reply.overflow() if verdict.finish is Finish.CONTEXT else reply.refused(verdict.finish)

    def _refusal(self, error: openai.APIStatusError) -> Refusal:
        headers = error.response.headers
        return Refusal(
            status=error.status_code,
            said=self._plain(reply.complaint(error.body, error.response.text)),
            code=self._plain(reply.complaint_code(error.body)),
            after=retry_after(headers.get("retry-after")),
            endpoint=self.config.base_url,
            model=self.config.model,
            key_name=self.config.api_key_env,
        )

    def _plain(self, error: object) -> str:
        """Text of a server or library for a user: one short line without escapes and without the key."""
        text = str(error)
        if key := self.config.key():
            text = text.replace(key, f"[{self.config.api_key_env}]")
        return " ".join(clean(text[:2000]).split())[:300]

    def _tell(self, line: str) -> None:
        if line not in self._told and len(self._told) < len(Finish) + 8:
            self._told.add(line)
            logger.warning("%s", line)


class _Line:
    """What belongs to one event loop: the limiter, and a client with one connection for each call in flight.

    A pool of many connections looks at all its idle ones, by a system call each, when a call begins and when it ends.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.limiter = Limiter(config.limits)
        self._config = config
        self._ssl = httpx2.create_ssl_context()
        self._idle: list[AsyncOpenAI] = []

    @contextmanager
    def client(self) -> Iterator[AsyncOpenAI]:
        """One that no other call uses, the last used first: its connection is the least likely to be closed."""
        client = self._idle.pop() if self._idle else self._opened()
        try:
            yield client
        finally:
            self._idle.append(client)

    def _opened(self) -> AsyncOpenAI:
        return AsyncOpenAI(
            api_key=self._config.key() or _NO_KEY,
            base_url=self._config.base_url,
            max_retries=0,
            http_client=httpx2.AsyncClient(
                verify=self._ssl,
                # The second one while the first is being closed.
                limits=httpx2.Limits(max_connections=2, max_keepalive_connections=1),
                timeout=httpx2.Timeout(self._config.limits.timeout_seconds, connect=_CONNECT),
                # The endpoint that was configured, and no other that it names.
                follow_redirects=False,
            ),
        )


def _guessed(*messages: Message) -> int:
    """About how many tokens."""
    told = [text for m in messages for text in (m.content, m.reasoning, *(call.arguments for call in m.tool_calls))]
    return sum(map(len, told)) // 4


async def _post(client: AsyncOpenAI, tree: dict[str, Any]) -> bytes | None:
    """The bytes of the answer, of whatever kind; None where they are too many.

    The SDK's own method for this path walks every message of the body by its types, which costs more than all else
    that we do for a call; `body` has made what the wire wants already.
    """
    got = bytearray()
    response = await client.post(
        "/chat/completions",
        content=orjson.dumps(tree),
        options={"headers": {"Content-Type": "application/json"}},
        cast_to=httpx2.Response,
        stream=True,
        stream_cls=AsyncStream[object],
    )
    # With this `cast_to` it is the bare answer, whose body has not been read yet.
    answer = cast(httpx2.Response, response)
    try:
        async for chunk in answer.aiter_bytes():
            got += chunk
            if len(got) > MOST_BYTES:
                return None
    finally:
        await answer.aclose()
    return bytes(got)
