"""Every model and every wrapper of one keeps the contract. A file in pipeline/llm/ with a `complete` is tested.

Add a new one to MODELS, with a function that wraps it around another; until then its tests fail.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.models import Limits, ModelConfig
from pipeline.demo.role_dispatch import DemoModel
from pipeline.errors import ProviderError
from pipeline.llm.base import LLM, Completion, Finish, Request
from pipeline.llm.budget import Budget, Budgeted
from pipeline.llm.cached import Cached
from pipeline.llm.ledger import Counted, Spent
from pipeline.llm.llama import LlamaModel
from pipeline.llm.openai import OpenAIModel
from pipeline.llm.reach import Reached
from pipeline.llm.routed import Routed
from pipeline.store.cache import Cache
from pipeline.types import Message, Usage
from tests.chaos.faulty_server import FaultyServer
from tests.scripted_llm import ScriptedLLM

REQUEST = Request(model="m", messages=(Message(role="user", content="Who?"),))
USAGE = Usage(calls=1, prompt_tokens=7, completion_tokens=5)
HOSTILE = 'quote " backslash \\ nul \x00 line\u2028 emoji 🧭'


def _plain(number: int, body: dict[str, Any]) -> dict[str, Any] | None:
    """Answer the client's probe whether the server is alive; it is not for the model."""
    return {"choices": [{"message": {"content": "yes"}}]} if body["messages"][0]["content"] == "Say yes." else None


class Wired:
    """A model behind a server and our client of it."""

    def __init__(self, inner: LLM) -> None:
        self._inner = inner
        self._starting = asyncio.Lock()
        self._client: OpenAIModel | None = None

    async def complete(self, request: Request) -> Completion:
        async with self._starting:
            if self._client is None:
                server = await FaultyServer(model=self._inner, script=_plain).__aenter__()
                limits = Limits(attempts=1)
                config = ModelConfig(provider="openai", model="m", base_url=server.url, limits=limits)
                self._client = OpenAIModel(config, 0)
        return await self._client.complete(request)


class Weighed(LlamaModel):
    """A model behind a stand-in for llama.cpp, whose answers tests/llm/test_llama.py covers."""

    def __init__(self, inner: LLM, folder: Path) -> None:
        (folder / "m.gguf").write_bytes(b"GGUF")
        super().__init__(ModelConfig(provider="gguf", file=folder / "m.gguf"), 0)
        self._inner = inner

    def _start_once(self) -> Any:
        self._client = client = self._client or Wired(self._inner)  # type: ignore[assignment]
        return client


class Asked:
    """A model behind the wrapper that first probes the endpoint, here a server that lists its models."""

    def __init__(self, inner: LLM) -> None:
        self._inner = inner
        self._starting = asyncio.Lock()
        self._reached: Reached | None = None

    async def complete(self, request: Request) -> Completion:
        async with self._starting:
            if self._reached is None:
                server = await FaultyServer().__aenter__()
                config = ModelConfig(provider="openai", model="m", base_url=server.url)
                self._reached = Reached(self._inner, config, 0.0)
        return await self._reached.complete(request)


MODELS: dict[str, Callable[[LLM, Path], LLM]] = {
    "budget": lambda inner, folder: Budgeted(inner, Budget(before=Spent()), lambda usage: None),
    "cached": lambda inner, folder: Cached(inner, Cache(folder / "cache.sqlite")),
    "ledger": lambda inner, folder: Counted(inner),
    "llama": Weighed,
    "openai": lambda inner, folder: Wired(inner),
    "reach": lambda inner, folder: Asked(inner),
    "routed": lambda inner, folder: Routed({"m": inner}),
    "scripted": lambda inner, folder: inner,
}


def make_answer(request: Request) -> Completion:
    """Return a different answer for each request."""
    content = f"{request.messages[-1].content} {request.sample} {HOSTILE}"
    return Completion(message=Message(role="assistant", content=content), finish=Finish.STOP, usage=USAGE)


@pytest.fixture(params=sorted(MODELS))
def wrap(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[LLM], LLM]:
    return lambda inner: MODELS[request.param](inner, tmp_path)


async def test_each_request_gets_its_full_answer(wrap: Callable[[LLM], LLM]) -> None:
    model = wrap(ScriptedLLM(make_answer))
    requests = [REQUEST.model_copy(update={"sample": sample}) for sample in range(20)] * 2
    assert await asyncio.gather(*(model.complete(r) for r in requests)) == [make_answer(r) for r in requests]


async def test_the_request_is_passed_on_unchanged(wrap: Callable[[LLM], LLM]) -> None:
    inner = ScriptedLLM(make_answer)
    await wrap(inner).complete(REQUEST)
    assert inner.requests == [REQUEST]


async def test_a_failed_endpoint_is_a_provider_error_and_can_be_retried(wrap: Callable[[LLM], LLM]) -> None:
    model = wrap(ScriptedLLM([ProviderError("down"), make_answer(REQUEST)]))
    with pytest.raises(ProviderError, match="down"):
        await model.complete(REQUEST)
    assert await model.complete(REQUEST) == make_answer(REQUEST)


async def test_an_unusable_answer_is_no_error(wrap: Callable[[LLM], LLM]) -> None:
    cut = Completion(message=Message(role="assistant", content="{"), finish=Finish.LENGTH, usage=USAGE)
    assert await wrap(ScriptedLLM([cut])).complete(REQUEST) == cut


async def test_cancelling_one_call_leaves_the_others(wrap: Callable[[LLM], LLM]) -> None:
    class Slow:
        async def complete(self, request: Request) -> Completion:
            await asyncio.sleep(0.05)
            return make_answer(request)

    model = wrap(Slow())
    cancelled, waiting = (asyncio.create_task(model.complete(REQUEST)) for _ in range(2))
    await asyncio.sleep(0.01)
    cancelled.cancel()
    assert await waiting == make_answer(REQUEST)
    with pytest.raises(asyncio.CancelledError):
        await cancelled


async def test_the_demo_model_refuses_unknown_requests() -> None:
    with pytest.raises(ValueError, match="no rules"):
        await DemoModel().complete(REQUEST)
