"""Any server that speaks OpenAI's Chat Completions, behind the contract of every model.

Nothing that leaves this file holds the key: neither what a server says of an error nor what a model answers.
"""

import asyncio
import logging
from typing import Any
from weakref import WeakKeyDictionary

import httpx2

from pipeline.config.models import ModelConfig
from pipeline.llm import connection, reply
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.cached import request_digest
from pipeline.llm.limiter import Limiter, Slot
from pipeline.llm.refusal import Refusal, RefusalAction, judged
from pipeline.llm.retry import CallFailure, EndpointHealth, retry_after, with_retries
from pipeline.llm.wire import Dialect, body
from pipeline.redact import without
from pipeline.types import Message

logger = logging.getLogger(__name__)
_PROBE_SECONDS = 60.0
_PLAIN = (Message(role="user", content="Say yes."),)
"""A request that no endpoint which answers anything refuses."""


class OpenAIModel:
    """One model at one address, shared by all roles that name it."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self.config = config
        self._seed = run_seed
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()
        self._patience = EndpointHealth(config.base_url, config.limits, self._alive)
        self._without: Dialect = frozenset()
        self._told: set[str] = set()
        self._taken: Dialect = frozenset()

    async def complete(self, request: Request) -> Completion:
        """Raises ProviderError where the endpoint gave no answer in all tries, or refused for good."""
        line = self._line()
        tokens = _guessed(*request.messages)

        async def once(slot: Slot) -> Completion:
            completion = await self._answer(request)
            slot.tokens = completion.usage.prompt_tokens + completion.usage.completion_tokens
            return completion

        try:
            return await with_retries(
                once, line.limiter, self._patience, tokens=tokens, digest=lambda: request_digest(request)
            )
        except CallFailure as failure:
            self._tell(f"{self.config.model} breaks on a request that is left out ({failure})")
            return reply.refused(Finish.CONTENT_FILTER)

    def _line(self) -> "_Line":
        """A client belongs to one event loop: shared between two it hangs."""
        loop = asyncio.get_running_loop()
        if (line := self._lines.get(loop)) is None:
            line = self._lines[loop] = _Line(self.config)
        return line

    async def _answer(self, request: Request) -> Completion:
        """One try. A refusal that may be of the key or of this request alone is the key's where it meets a plain
        request too."""
        try:
            return await self._once(request)
        except CallFailure as failure:
            if failure.kind != "refused":
                raise
            other = await self._plain_request()
            if other is None:
                self._tell(f"{self.config.model} would not answer a request ({failure.own or failure})")
                return reply.refused(Finish.CONTENT_FILTER)
            raise CallFailure(str(failure), "fatal") if other.kind in ("refused", "fatal") else other from None

    async def _alive(self) -> bool:
        return await self._plain_request() is None

    async def _plain_request(self) -> CallFailure | None:
        """Why the endpoint does not even answer the plainest request; nothing where it does."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                request = Request(model=self.config.model, messages=_PLAIN, sampling=self.config.sampling)
                await self._once(request)
        except CallFailure as failure:
            return failure
        except TimeoutError:
            return CallFailure(f"no answer within {_PROBE_SECONDS:.0f} s")
        return None

    async def _once(self, request: Request) -> Completion:
        """One request, or a few where the server refuses parameters: each of those is left out from then on."""
        while True:
            without = self._without
            tree = body(request, self._seed, without)
            answer = await self._post(tree)
            if not answer.is_success:
                verdict = judged(self._refusal(answer), without, self._taken)
                if verdict.lacks:
                    self._without |= {verdict.lacks}
                    self._tell(f"{self.config.model} is asked without '{verdict.lacks}', which the endpoint refuses")
                    continue
                return self._settled(verdict)
            if len(answer.content) > connection.MOST_BYTES:
                return reply.refused(Finish.LENGTH)
            completion = self._read(answer.content, request)
            self._taken |= {*tree, *(("strict",) if "tools" in tree else ())}
            return completion

    async def _post(self, tree: dict[str, Any]) -> httpx2.Response:
        seconds = self.config.limits.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._line().connections.ask("/chat/completions", tree)
        except TimeoutError:
            raise CallFailure(f"no answer within {seconds:.0f} s") from None
        except ConnectionError as error:
            raise CallFailure(f"the connection broke ({self._plain(error)})") from None

    def _read(self, raw: bytes, request: Request) -> Completion:
        """The answer. Tokens that the server does not tell are guessed: without any no budget or limit would end."""
        try:
            completion = reply.completion(raw)
        except CallFailure as failure:
            raise CallFailure(self._plain(failure), failure.kind) from None
        if not completion.usage.prompt_tokens:
            self._tell(f"{self.config.base_url} tells no tokens; they are counted as a quarter of the characters")
            guessed = {"prompt_tokens": _guessed(*request.messages), "completion_tokens": _guessed(completion.message)}
            usage = completion.usage.model_copy(update=guessed)
            completion = completion.model_copy(update={"usage": usage})
        kept = reply.keyless(completion, self.config.key())
        if kept is not completion:
            self._tell(f"{self.config.model} repeated the key in {self.config.key_name}, which was taken out")
        return kept

    def _settled(self, verdict: RefusalAction) -> Completion:
        if verdict.finish is None:
            raise verdict.failure or CallFailure(verdict.said)
        self._tell(verdict.said)
        return reply.overflow() if verdict.finish is Finish.CONTEXT else reply.refused(verdict.finish)

    def _refusal(self, answer: httpx2.Response) -> Refusal:
        complaint, code = reply.complaint(answer.content)
        return Refusal(
            status=answer.status_code,
            said=self._plain(complaint),
            code=self._plain(code),
            after=retry_after(answer.headers.get("retry-after")),
            endpoint=self.config.base_url,
            model=self.config.model,
            key_name=self.config.key_name,
        )

    def _plain(self, error: object) -> str:
        """Text of a server or library for a user: one short line without escapes and without the key."""
        text = without(str(error), self.config.key(), f"[{self.config.key_name}]")
        return " ".join(text.split())[:300]

    def _tell(self, line: str) -> None:
        if line not in self._told and len(self._told) < len(Finish) + 8:
            self._told.add(line)
            logger.warning("%s", line)


class _Line:
    """What belongs to one event loop."""

    def __init__(self, config: ModelConfig) -> None:
        self.limiter = Limiter(config.limits)
        self.connections = connection.Connections(config)


def _guessed(*messages: Message) -> int:
    """About how many tokens."""
    told = [text for m in messages for text in (m.content, m.reasoning, *(call.arguments for call in m.tool_calls))]
    return sum(map(len, told)) // 4
