"""Is anyone there? One cheap question to an endpoint before it is worked with, so that nobody waits to learn that a
server was not started, or is still loading its weights.
"""

import asyncio
import logging
import time
from contextlib import aclosing
from functools import cache

import httpx2

from pipeline.config.models import ModelConfig
from pipeline.errors import ProviderError
from pipeline.llm import reply
from pipeline.llm.base import LLM, Completion, Request
from pipeline.llm.connection import Connections
from pipeline.llm.deadline import held
from pipeline.llm.refusal import Refusal, judged
from pipeline.redact import without

logger = logging.getLogger(__name__)
SECONDS = 4.0
"""Within which an endpoint lists its models."""
_AGAIN = 1.0
_LOADING = (502, 503, 504)


class Reached:
    """Wraps a client: its endpoint is asked for once before the first call."""

    def __init__(self, llm: LLM, config: ModelConfig, wait: float) -> None:
        self._llm, self._config, self._wait = llm, config, wait
        self._lock = asyncio.Lock()
        self._there = False

    async def complete(self, request: Request) -> Completion:
        if not self._there:
            with held():
                async with self._lock:
                    if not self._there:
                        await reach(self._config, self._wait)
                        self._there = True
        return await self._llm.complete(request)


async def reach(config: ModelConfig, wait: float) -> None:
    """Raises ProviderError where the endpoint takes no calls, or will not take the key, within `wait` seconds."""
    end = time.monotonic() + wait
    if warning := config.key_warning():
        _warn(warning)
    async with aclosing(Connections(config)) as connections:
        told = False
        while why := await _silent(connections, config):
            if time.monotonic() >= end:
                hint = "start it, or correct the address; --wait SECONDS waits for one that is still loading"
                raise ProviderError(f"{config.base_url} {why}: {hint}", then="stop")
            if not told:
                told = True
                logger.warning("%s %s; waiting for it for up to %g s", config.base_url, why, wait)
            await asyncio.sleep(min(_AGAIN, max(0.0, end - time.monotonic())))


@cache
def _warn(line: str) -> None:
    """Once in a process, however often its endpoint is asked for."""
    logger.warning("%s", line)


async def _silent(connections: Connections, config: ModelConfig) -> str:
    """What keeps the endpoint from being asked, which may pass; empty where nothing does."""
    try:
        async with asyncio.timeout(SECONDS):
            answer = await connections.ask("/models")
    except TimeoutError:
        return f"did not answer within {SECONDS:g} s"
    except ConnectionError as error:
        said = without(str(error), config.key(), f"[{config.key_name}]")
        return f"cannot be reached ({' '.join(said.split())[:200]})"
    _refuse(answer, config)
    return f"answered {answer.status_code}" if answer.status_code in _LOADING else ""


def _refuse(answer: httpx2.Response, config: ModelConfig) -> None:
    """Not every gateway lists its models, and a key may be for calls alone: only a plain no is one."""
    said = without(reply.complaint(answer.content)[0], config.key(), "")
    if answer.status_code == 401 and "scope" not in said or 300 <= answer.status_code < 400:
        refusal = Refusal(answer.status_code, "", "", None, config.base_url, config.model, config.key_name)
        raise ProviderError(judged(refusal, frozenset()).said, then="stop")
