"""A server that speaks OpenAI's Chat Completions, at one address.

No completion or error that leaves this file contains the key, even if a server repeats it.
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
from pipeline.llm.ledger import note_failed_attempt
from pipeline.llm.limiter import Limiter
from pipeline.llm.retry import CallFailure, EndpointHealth, retry_after
from pipeline.llm.token_estimate import size, tokens
from pipeline.llm.token_usage import estimate_cached
from pipeline.types import Message

logger = logging.getLogger(__name__)
_PROBE_SECONDS = 60.0
LONG_PROMPT = 2000
"""Tokens that a prompt must have, so that the server's count can be compared with an estimate."""
_PROBE = (Message(role="user", content="Say yes."),)
"""A minimal request: an endpoint that refuses it answers nothing."""


def is_prompt_cut(sent_tokens: int, read_tokens: int) -> bool:
    return sent_tokens >= LONG_PROMPT and 2 * read_tokens < sent_tokens


def longer_context(tokens: int) -> str:
    return f"Ollama: OLLAMA_CONTEXT_LENGTH={tokens}, or num_ctx of the model; vLLM: --max-model-len; llama.cpp: -c"


class Endpoint:
    """One model at one address, with the health of the server there and the parameters that it refuses."""

    def __init__(self, config: ModelConfig, run_seed: int) -> None:
        self.config = config
        self.health = EndpointHealth(config.base_url, self._is_alive)
        self._seed = run_seed
        self._per_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopClient] = WeakKeyDictionary()
        self._without: Dialect = frozenset()
        self._accepted: Dialect = frozenset()
        self._warned: set[str] = set()
        self._may_repeat = True
        """Whether the model has finished no long answer properly since it last repeated itself to the end."""

    @property
    def limiter(self) -> Limiter:
        return self._loop_client().limiter

    def _loop_client(self) -> "_LoopClient":
        """Return the client of the running event loop. A client that two loops share hangs."""
        loop = asyncio.get_running_loop()
        if loop not in self._per_loop:
            self._per_loop[loop] = _LoopClient(self.config)
        return self._per_loop[loop]

    async def answer(self, request: Request) -> Completion:
        """Answer one request. Raises CallFailure, and RequestRefused if the server refuses only this request.

        If it is unclear whether the key or the request is refused, a refused probe shows that it is the key.
        """
        try:
            return await self._answer_without_repetition(request)
        except RequestRefused as error:
            refusal = error
        except CallFailure as failure:
            if failure.kind != "refused":
                raise
            if probe_failure := await self._probe():
                if probe_failure.kind in ("refused", "fatal"):
                    raise CallFailure(str(failure), "fatal") from None
                raise probe_failure from None
            refusal = RequestRefused(failure.request_line)
        self.health.record_answer()
        self.warn(str(refusal))
        raise refusal

    async def _is_alive(self) -> bool:
        failure = await self._probe()
        return failure is None or failure.kind == "refused"  # a refusal is an answer too

    async def _probe(self) -> CallFailure | None:
        """Return why the endpoint does not answer a minimal request, or None if it does."""
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                request = Request(model=self.config.model, messages=_PROBE, sampling=self.config.sampling)
                await self._once(request)
        except RequestRefused:
            return None  # an endpoint that answers other requests may refuse this one, so the key is valid
        except CallFailure as failure:
            return failure
        except TimeoutError:
            return CallFailure(f"no answer within {_PROBE_SECONDS:.0f} s")
        return None

    async def _answer_without_repetition(self, request: Request) -> Completion:
        """Answer one request, and stop early a model that repeats itself instead of ending a call or JSON.

        If the model may do that, ask first for a few tokens. An answer that ends within them is what the full request
        would have given; otherwise send the full request.
        """
        step, sampling = repetition.STEP, request.sampling
        start = None
        if self._may_repeat and (request.tools or request.output) and sampling.max_tokens >= 2 * step:
            short = sampling.model_copy(update={"max_tokens": step})
            start = repetition.cut_repetition(await self._once(request.model_copy(update={"sampling": short})), step)
            if start.finish is Finish.REPEATS or not repetition.reaches_limit(start, step):
                return start
            request = request.model_copy(update={"shared_prefix": 1.0})
        completion = repetition.cut_repetition(await self._once(request), sampling.max_tokens)
        if start or completion.finish is Finish.REPEATS:
            self._may_repeat = completion.finish in (Finish.REPEATS, Finish.LENGTH)
        if start is None:
            return completion
        usage = (start.usage + completion.usage).model_copy(update={"calls": completion.usage.calls})
        return completion.model_copy(update={"usage": usage})

    async def _once(self, request: Request) -> Completion:
        """Send one request: again with each concession that the server needs, and once more if it is refused.

        A concession that does not help is withdrawn. The last attempt sends the original request: the conversation
        before it is cached, and if the server accepts it now, the bytes are those of a run without the refusal.
        """
        without, attempted = self._without, Dialect()
        is_second_attempt = False
        while True:
            tree = body(request, self._seed, without)
            answer = self._read(await self._post(tree), request)
            if isinstance(answer, Completion):
                self._concede(without)
                # A request with tools shows that the server accepts schemas too.
                self._accepted |= {*tree, *(("strict", "additionalProperties") if "tools" in tree else ())} - without
                return answer

            def changes_body(name: str, sent: dict[str, Any] = tree, dialect: Dialect = without) -> bool:
                return body(request, self._seed, dialect | {name}) != sent

            action = refusal_action(answer, without | attempted, self._accepted, changes_body)
            if action.is_refusal:
                note_failed_attempt(refused=True)
            if action.is_refusal and not is_second_attempt:
                without, is_second_attempt = self._without, True
                continue
            if action.failure:
                raise action.failure
            if not action.concession:
                self.warn(action.line)
                return reply.empty_completion(action.finish)
            without, attempted = without | {action.concession}, attempted | {action.concession}

    def _concede(self, without: Dialect) -> None:
        for name in sorted(without - self._without):
            self.warn(f"{self.config.base_url} {BY_NAME[name].description}")
        self._without |= without

    async def _post(self, tree: dict[str, Any]) -> httpx2.Response:
        seconds = self.config.limits.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._loop_client().connections.ask("/chat/completions", tree)
        except TimeoutError:
            raise CallFailure(f"no answer within {seconds:.0f} s") from None
        except ConnectionError as error:
            raise CallFailure(f"the connection broke ({error})") from None

    def _read(self, answer: httpx2.Response, request: Request) -> Completion | Refusal:
        """Return the completion in an answer, or the refusal, which may have any status.

        Missing token counts are estimated, since without them no budget would be used up. Raises CallFailure.
        """
        raw = answer.content
        if not answer.is_success:
            error = parse_error(raw)
            if error.generation is None:
                return self._refusal(answer, answer.status_code, error)
            raw = reply.unread_call(error.generation)
        if len(raw) > connection.MOST_BYTES:
            return reply.empty_completion(Finish.LENGTH)
        try:
            completion = reply.completion(
                raw, request.tools, request.output, request.calls, shared_prefix=request.shared_prefix
            )
        except reply.ErrorAnswer as error_answer:
            return self._refusal(answer, error_answer.body.status or 500, error_answer.body)
        except CallFailure as failure:
            raise CallFailure(self._clean(str(failure)), failure.kind) from None
        if not completion.usage.prompt_tokens:
            self.warn(f"{self.config.base_url} reports no token usage; it is estimated from the texts")
            counts = {
                "prompt_tokens": size(request.messages, request.tools),
                "completion_tokens": size([completion.message]) + tokens(completion.message.reasoning),
            }
            usage = completion.usage.model_copy(update=counts)
            usage = estimate_cached(usage, request.shared_prefix)
            completion = completion.model_copy(update={"usage": usage})
        self._warn_if_cut(request, completion.usage.prompt_tokens)
        for name, secret in self.config.secrets():
            redacted = reply.remove_key(completion, secret)
            if redacted is not completion:
                self.warn(f"{self.config.model} repeated the value of {name}, which was removed")
            completion = redacted
        return completion

    def _warn_if_cut(self, request: Request, read_tokens: int) -> None:
        sent_tokens = size(request.messages, thoughts=request.thoughts)
        if self.config.capabilities.limited and is_prompt_cut(sent_tokens, read_tokens):
            context = self.config.context
            self.warn(
                f"{self.config.base_url} has read {read_tokens:,} of about {sent_tokens:,} tokens of a prompt: it cuts "
                f"what its context does not hold; give it a context of {context:,} ({longer_context(context)})",
                "cut prompt",
            )

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
        return self._loop_client().connections.clean(text)

    def warn(self, line: str, kind: str = "") -> None:
        """Log a line once, or only the first line of its `kind`."""
        if (kind or line) not in self._warned and len(self._warned) < len(Finish) + 8:
            self._warned.add(kind or line)
            logger.warning("%s", line)


class _LoopClient:
    """The limiter and the connections of one event loop."""

    def __init__(self, config: ModelConfig) -> None:
        self.limiter = Limiter(config.limits)
        self.connections = connection.Connections(config)
