"""Check of an endpoint before the first call, through its list of models.

It reports at once a server that was not started or is still loading its weights, and a context that is set too long.
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
    """A model whose endpoints are checked once, before the first call."""

    def __init__(self, llm: LLM, config: ModelConfig, wait: float) -> None:
        self._llm, self._config, self._wait = llm, config, wait
        self._lock = asyncio.Lock()
        self._checked = False

    async def complete(self, request: Request) -> Completion:
        if not self._checked:
            with pause_clock():
                async with self._lock:
                    if not self._checked:
                        await reach(self._config, self._wait)
                        self._checked = True
        return await self._llm.complete(request)


async def reach(config: ModelConfig, wait: float) -> None:
    """Wait until an endpoint of the model answers. One is enough: the run tries the others again.

    Raises ProviderError if none answers within `wait` seconds, or if one refuses the key.
    """
    end = time.monotonic() + wait
    endpoints = config.each()
    for endpoint in endpoints:
        if warning := endpoint.key_warning():
            _warn_once(warning)
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(aclosing(Connections(endpoint))) for endpoint in endpoints]
        warned = False
        while all(problems := await asyncio.gather(*map(_find_problem, clients, endpoints))):
            why = "; ".join(
                f"{endpoint.base_url} {problem}" for endpoint, problem in zip(endpoints, problems, strict=True)
            )
            if time.monotonic() >= end:
                hint = "start it or correct the address; --wait SECONDS waits for one that is still loading"
                raise ProviderError(f"{why}: {hint}", then="stop")
            if not warned:
                warned = True
                logger.warning("%s; waiting for it for up to %g s", why, wait)
            await asyncio.sleep(min(_AGAIN, max(0.0, end - time.monotonic())))
        for endpoint, problem in zip(endpoints, problems, strict=True):
            if problem:
                _warn_once(f"{endpoint.base_url} {problem}; the run begins without it")


@cache
def _warn_once(line: str) -> None:
    logger.warning("%s", line)


async def _find_problem(connections: Connections, config: ModelConfig) -> str:
    """Return why the endpoint cannot be called yet, or an empty text. Raises ProviderError if waiting cannot help."""
    try:
        async with asyncio.timeout(SECONDS):
            answer = await connections.ask("/models")
    except TimeoutError:
        return f"did not answer within {SECONDS:g} s"
    except ConnectionError as error:
        return f"cannot be reached ({error})"
    status = answer.status_code
    # Not every gateway lists its models, and a key may be valid only for calls.
    is_refusal = status == 401 and "scope" not in parse_error(answer.content).message
    if is_refusal or 300 <= status < 400:
        refusal = Refusal(status, message="", code="", after=None, config=config)
        raise ProviderError(str(refusal_action(refusal, frozenset()).failure), then="stop")
    return f"answered {status}" if status in _LOADING else ""


async def served_context(config: ModelConfig) -> int | None:
    """Return the context in tokens that the model's server states in its list of models, or None if it states none.

    vLLM and SGLang state `max_model_len`. llama.cpp states `meta.n_ctx`, which is the context of one call.
    """
    async with aclosing(Connections(config)) as connections:
        try:
            async with asyncio.timeout(SECONDS):
                answer = await connections.ask("/models")
            entries = orjson.loads(answer.content)["data"]
        except (TimeoutError, ConnectionError, ValueError, KeyError, TypeError):
            return None
    models = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    # llama.cpp names its model by the file, and answers under every name.
    models = [model for model in models if model.get("id") == config.model] or models
    return _read_context(models[0]) if len(models) == 1 else None


def _read_context(model: dict[str, Any]) -> int | None:
    meta = model.get("meta")
    tokens = model.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else None)
    return tokens if isinstance(tokens, int) and tokens > 0 else None
