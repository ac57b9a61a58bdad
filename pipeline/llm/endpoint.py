"""A server that speaks OpenAI's Chat Completions, at one address.

No completion and no error that leaves this file holds the key, whatever a server repeats.
"""

import asyncio
import logging
from typing import Any
from weakref import WeakKeyDictionary

import httpx2

from pipeline.config.models import ModelConfig
from pipeline.errors import RequestRefused
from pipeline.llm import connection, repetition, reply
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.chat_body import Dialect, body
from pipeline.llm.concessions import BY_NAME
from pipeline.llm.error_body import ErrorBody, parse_error
from pipeline.llm.http_errors import Refusal, refusal_action
from pipeline.llm.ledger import note_failed_try
from pipeline.llm.limiter import Limiter
from pipeline.llm.retry import CallFailure, EndpointHealth, retry_after
from pipeline.llm.token_estimate import size, tokens
from pipeline.llm.token_usage import estimate_cached
from pipeline.types import Message

logger = logging.getLogger(__name__)
_PROBE_SECONDS = 60.0
LONG_PROMPT = 2000
"""Tokens of a prompt from which on what a server reports of it can be compared with an estimate."""
_PLAIN = (Message(role="user", content="Say yes."),)
"""The plainest request: an endpoint that refuses it answers nothing."""


def prompt_cut(sent: int, read: int) -> bool:
    """Has a server read less than half of a prompt of about so many tokens?"""
    return sent >= LONG_PROMPT and 2 * read < sent


def longer_context(tokens: int) -> str:
    """How the context of a server is set."""
    return f"Ollama: OLLAMA_CONTEXT_LENGTH={tokens}, or num_ctx of the model; vLLM: --max-model-len; llama.cpp: -c"


class Endpoint:
    """One model at one address, with what is known of the server there: its health, and which parameters it refuses."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self.config = config
        self.health = EndpointHealth(config.base_url, self._alive)
        self._seed = run_seed
        self._per_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopClient] = WeakKeyDictionary()
        self._without: Dialect = frozenset()
        self._accepted: Dialect = frozenset()
        self._warned: set[str] = set()
        self._may_repeat = True
        """Has the model ended no long answer well since the last one in which it only repeated itself?"""

    @property
    def limiter(self) -> Limiter:
        return self._client().limiter

    def _client(self) -> "_LoopClient":
        """That of the running event loop: shared between two loops a client hangs."""
        loop = asyncio.get_running_loop()
        if loop not in self._per_loop:
            self._per_loop[loop] = _LoopClient(self.config)
        return self._per_loop[loop]

    async def answer(self, request: Request) -> Completion:
        """Answer one request. Raises CallFailure, and RequestRefused if the server refuses this request alone.

        A refusal that may concern the key or this request concerns the key if a plain request is refused too.
        """
        try:
            return await self._looked_at(request)
        except RequestRefused as error:
            refused = error
        except CallFailure as failure:
            if failure.kind != "refused":
                raise
            if other := await self._plain_request():
                raise CallFailure(str(failure), "fatal") if other.kind in ("refused", "fatal") else other from None
            refused = RequestRefused(failure.own)
        self.health.answered()
        self.warn(str(refused))
        raise refused

    async def _alive(self) -> bool:
        """Return whether the server answers at all, be it by refusing the plainest request."""
        failure = await self._plain_request()
        return failure is None or failure.kind == "refused"

    async def _plain_request(self) -> CallFailure | None:
        """Why the endpoint does not answer even the plainest request; None if it does."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                request = Request(model=self.config.model, messages=_PLAIN, sampling=self.config.sampling)
                await self._once(request)
        except RequestRefused as error:
            return CallFailure(str(error), "refused")
        except CallFailure as failure:
            return failure
        except TimeoutError:
            return CallFailure(f"no answer within {_PROBE_SECONDS:.0f} s")
        return None

    async def _looked_at(self, request: Request) -> Completion:
        """One answer. A model that may only repeat itself is first asked for the beginning of calls or JSON, which are
        then asked for whole if there is more of them: what is whole already is what it would have been."""
        step, sampling = repetition.STEP, request.sampling
        begun = None
        formed = request.tools or request.output
        if self._may_repeat and formed and sampling.max_tokens >= 2 * step:
            short = sampling.model_copy(update={"max_tokens": step})
            begun = repetition.ended(await self._once(request.model_copy(update={"sampling": short})), step)
            if begun.finish is Finish.REPEATS or not repetition.cut_off(begun, step):
                return begun
            request = request.model_copy(update={"shared_prefix": 1.0})
        whole = repetition.ended(await self._once(request), sampling.max_tokens)
        if begun or whole.finish is Finish.REPEATS:
            self._may_repeat = whole.finish in (Finish.REPEATS, Finish.LENGTH)
        if begun is None:
            return whole
        paid = (begun.usage + whole.usage).model_copy(update={"calls": whole.usage.calls})
        return whole.model_copy(update={"usage": paid})

    async def _once(self, request: Request) -> Completion:
        """Send one request, again with each concession that the server wants, and once again if it is refused itself.

        A concession that does not help is taken back. The second time it is the same request: what came before it in a
        conversation is cached, and if the server takes it now, the bytes are those of a run without the refusal.
        """
        without, tried = self._without, Dialect()
        is_second = False
        while True:
            tree = body(request, self._seed, without)
            answer = self._read(await self._post(tree), request)
            if isinstance(answer, Completion):
                self._concede(without)
                # With tools a server has read their schemas too.
                self._accepted |= {*tree, *(("strict", "additionalProperties") if "tools" in tree else ())} - without
                return answer

            def changes(name: str, sent: dict[str, Any] = tree, made: Dialect = without) -> bool:
                return body(request, self._seed, made | {name}) != sent

            action = refusal_action(answer, without | tried, self._accepted, changes)
            if action.refused:
                note_failed_try(refused=True)
            if action.refused and not is_second:
                without, is_second = self._without, True
                continue
            if action.failure:
                raise action.failure
            if not action.lacks:
                self.warn(action.line)
                return reply.empty(action.finish)
            without, tried = without | {action.lacks}, tried | {action.lacks}

    def _concede(self, without: Dialect) -> None:
        """Make the concessions that have helped for all requests from now on."""
        for name in sorted(without - self._without):
            self.warn(f"{self.config.base_url} {BY_NAME[name].description}")
        self._without |= without

    async def _post(self, tree: dict[str, Any]) -> httpx2.Response:
        seconds = self.config.limits.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._client().connections.ask("/chat/completions", tree)
        except TimeoutError:
            raise CallFailure(f"no answer within {seconds:.0f} s") from None
        except ConnectionError as error:
            raise CallFailure(f"the connection broke ({error})") from None

    def _read(self, answer: httpx2.Response, request: Request) -> Completion | Refusal:
        """Return the completion in an answer, or the refusal that it is, whatever its status.

        Missing token counts are estimated: without any no budget would end. Raises CallFailure.
        """
        raw = answer.content
        if not answer.is_success:
            error = parse_error(raw)
            if error.generation is None:
                return self._refusal(answer, answer.status_code, error)
            raw = reply.unread_call(error.generation)
        if len(raw) > connection.MOST_BYTES:
            return reply.empty(Finish.LENGTH)
        try:
            completion = reply.completion(
                raw, request.tools, request.output, request.calls, shared_prefix=request.shared_prefix
            )
        except reply.ErrorAnswer as wrapped:
            return self._refusal(answer, wrapped.body.status or 500, wrapped.body)
        except CallFailure as failure:
            raise CallFailure(self._clean(str(failure)), failure.kind) from None
        if not completion.usage.prompt_tokens:
            self.warn(f"{self.config.base_url} reports no token usage; it is estimated from the texts")
            prompt = size(request.messages, request.tools)
            written = size([completion.message]) + tokens(completion.message.reasoning)
            usage = completion.usage.model_copy(update={"prompt_tokens": prompt, "completion_tokens": written})
            usage = estimate_cached(usage, request.shared_prefix)
            completion = completion.model_copy(update={"usage": usage})
        self._see_whether_cut(request, completion.usage.prompt_tokens)
        for name, secret in self.config.secrets():
            kept = reply.keyless(completion, secret)
            if kept is not completion:
                self.warn(f"{self.config.model} repeated the value of {name}, which was removed")
            completion = kept
        return completion

    def _see_whether_cut(self, request: Request, read: int) -> None:
        """Say once that the server cuts prompts: what it reports is far below the least that they can have."""
        sent = size(request.messages, thoughts=request.thoughts)
        if self.config.capabilities.limited and prompt_cut(sent, read):
            at, context = self.config.base_url, self.config.context
            line = (
                f"{at} has read {read:,} of about {sent:,} tokens of a prompt: it cuts what its context does not hold"
            )
            self.warn(f"{line}; give it a context of {context:,} ({longer_context(context)})", "cut prompt")

    def _refusal(self, answer: httpx2.Response, status: int, error: ErrorBody) -> Refusal:
        return Refusal(
            status=status,
            message=self._clean(error.message),
            code=self._clean(error.code),
            after=retry_after(answer.headers.get("retry-after")),
            config=self.config,
            param=self._clean(error.param),
        )

    def _clean(self, text: str) -> str:
        return self._client().connections.clean(text)

    def warn(self, line: str, kind: str = "") -> None:
        """Log a line, once, or the first of its kind."""
        if (kind or line) not in self._warned and len(self._warned) < len(Finish) + 8:
            self._warned.add(kind or line)
            logger.warning("%s", line)


class _LoopClient:
    """The limiter and the connections of one event loop."""

    def __init__(self, config: ModelConfig) -> None:
        self.limiter = Limiter(config.limits)
        self.connections = connection.Connections(config)
