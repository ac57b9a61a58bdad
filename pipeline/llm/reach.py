"""What an endpoint says of itself before the first call: it lists its models. So a server that was not started, or that
is still loading its weights, is reported at once, and a context that is set too long is found.
"""

import asyncio
import logging
import time
from contextlib import AsyncExitStack, aclosing
from functools import cache
from typing import Any

import orjson

from pipeline.config.models import ModelConfig
from pipeline.errors import ProviderError
from pipeline.llm.base import LLM, Completion, Request
from pipeline.llm.connection import Connections
from pipeline.llm.deadline import pause_clock
from pipeline.llm.error_body import parse_error
from pipeline.llm.http_errors import Refusal, refusal_action

logger = logging.getLogger(__name__)
SECONDS = 4.0
"""The time within which an endpoint must list its models."""
_AGAIN = 1.0
_LOADING = (502, 503, 504)


class Reached:
    """A client whose endpoints are checked once, before the first call."""

    def __init__(self, llm: LLM, config: ModelConfig, wait: float) -> None:
        self._llm, self._config, self._wait = llm, config, wait
        self._lock = asyncio.Lock()
        self._up = False

    async def complete(self, request: Request) -> Completion:
        if not self._up:
            with pause_clock():
                async with self._lock:
                    if not self._up:
                        await reach(self._config, self._wait)
                        self._up = True
        return await self._llm.complete(request)


async def reach(config: ModelConfig, wait: float) -> None:
    """Raises ProviderError if no endpoint of the model answers within `wait` seconds, or one refuses the key. One that
    does answer is enough: the others are tried again in the run."""
    end = time.monotonic() + wait
    for one in config.each():
        if warning := one.key_warning():
            _warn(warning)
    async with AsyncExitStack() as stack:
        asked = [(await stack.enter_async_context(aclosing(Connections(one))), one) for one in config.each()]
        warned = False
        while all(lacks := await asyncio.gather(*(_unavailable(*one) for one in asked))):
            why = "; ".join(f"{one.base_url} {lack}" for (_, one), lack in zip(asked, lacks, strict=True))
            if time.monotonic() >= end:
                hint = "start it or correct the address; --wait SECONDS waits for one that is still loading"
                raise ProviderError(f"{why}: {hint}", then="stop")
            if not warned:
                warned = True
                logger.warning("%s; waiting for it for up to %g s", why, wait)
            await asyncio.sleep(min(_AGAIN, max(0.0, end - time.monotonic())))
        for (_, one), lack in zip(asked, lacks, strict=True):
            if lack:
                _warn(f"{one.base_url} {lack}; the run begins without it")


@cache
def _warn(line: str) -> None:
    """Once in a process."""
    logger.warning("%s", line)


async def _unavailable(connections: Connections, config: ModelConfig) -> str:
    """Why the endpoint cannot be called yet; empty if it can. Raises ProviderError where waiting is in vain."""
    try:
        async with asyncio.timeout(SECONDS):
            answer = await connections.ask("/models")
    except TimeoutError:
        return f"did not answer within {SECONDS:g} s"
    except ConnectionError as error:
        return f"cannot be reached ({error})"
    status = answer.status_code
    # Not every gateway lists its models, and a key may be for calls alone.
    refused = status == 401 and "scope" not in parse_error(answer.content).message
    if refused or 300 <= status < 400:
        refusal = Refusal(status, message="", code="", after=None, config=config)
        raise ProviderError(str(refusal_action(refusal, frozenset()).failure), then="stop")
    return f"answered {status}" if status in _LOADING else ""


async def served_context(config: ModelConfig) -> int | None:
    """The context that the model's server states in its list of models, in tokens; None where it states none. vLLM and
    SGLang state `max_model_len`, llama.cpp `meta.n_ctx`, which is that of one call."""
    async with aclosing(Connections(config)) as connections:
        try:
            async with asyncio.timeout(SECONDS):
                answer = await connections.ask("/models")
            listed = orjson.loads(answer.content)["data"]
        except (TimeoutError, ConnectionError, ValueError, KeyError, TypeError):
            return None
    models = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    # llama.cpp names its model by the file, and answers under every name.
    named = [one for one in models if one.get("id") == config.model] or models
    return _stated(named[0]) if len(named) == 1 else None


def _stated(listed: dict[str, Any]) -> int | None:
    meta = listed.get("meta")
    tokens = listed.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return tokens if isinstance(tokens, int) and tokens > 0 else None
