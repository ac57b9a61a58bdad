"""A finished call is never paid for again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pipeline.agents.tools import ANSWER, SEARCH
from pipeline.config.models import Sampling
from pipeline.errors import ProviderError
from pipeline.llm.base import LLM, Completion, Finish, Request, Schema
from pipeline.llm.cached import Cached, request_digest
from pipeline.llm.ledger import Counted, counting
from pipeline.store.cache import Cache
from pipeline.types import Message, Usage
from tests.scripted_llm import ScriptedLLM

ASK = Request(model="m", messages=(Message(role="user", content="Who?"),), tools=(SEARCH, ANSWER))


def make_completion(text: str, finish: Finish = Finish.STOP) -> Completion:
    usage = Usage(calls=1, prompt_tokens=7, completion_tokens=2)
    return Completion(message=Message(role="assistant", content=text), finish=finish, usage=usage)


class Slow:
    """Answers once `go` is set."""

    def __init__(self, llm: LLM) -> None:
        self.llm, self.go, self.cancelled = llm, asyncio.Event(), 0

    async def complete(self, request: Request) -> Completion:
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await self.llm.complete(request)


async def test_the_same_request_is_paid_once_over_restarts(tmp_path: Path) -> None:
    model = ScriptedLLM([make_completion("Zoë")])
    first = await Cached(model, Cache(tmp_path / "c")).complete(ASK)
    second = await Cached(ScriptedLLM([]), Cache(tmp_path / "c")).complete(ASK)
    assert first == second == make_completion("Zoë")


CHANGES: list[dict[str, Any]] = [
    {"model": "n"},
    {"messages": (Message(role="user", content="Who!"),)},
    {"tools": (SEARCH,)},
    {"tool_choice": "answer"},
    {"calls": "schema"},
    {"parallel_calls": False},
    {"output": Schema(name="verdict", body={})},
    {"sampling": Sampling(temperature=0.5)},
    {"sampling": Sampling(top_k=20)},
    {"sampling": Sampling(seed=0)},
    {"sampling": Sampling(extra_body={"chat_template_kwargs": {"enable_thinking": False}})},
    {"thoughts": True},
    {"sample": 1},
]


NO_CHANGE = {"shared_prefix": 0.5}
"""The answer does not depend on this field."""


def test_every_field_of_a_request_is_covered_here() -> None:
    assert {name for change in (*CHANGES, NO_CHANGE) for name in change} == set(Request.model_fields)


async def test_the_share_in_common_with_another_request_makes_no_new_call(tmp_path: Path) -> None:
    cached = Cached(ScriptedLLM(["one"]), Cache(tmp_path / "c"))
    answers = [await cached.complete(request) for request in (ASK, ASK.model_copy(update=NO_CHANGE))]
    assert [answer.message.content for answer in answers] == ["one", "one"]


@pytest.mark.parametrize("change", CHANGES, ids=[next(iter(c)) for c in CHANGES])
async def test_another_request_is_another_call(tmp_path: Path, change: dict[str, Any]) -> None:
    model = ScriptedLLM(["one", "two"])
    cached = Cached(model, Cache(tmp_path / "c"))
    await cached.complete(ASK)
    assert (await cached.complete(ASK.model_copy(update=change))).message.content == "two"


@pytest.mark.parametrize("finish", [Finish.LENGTH, Finish.CONTENT_FILTER, Finish.EMPTY, Finish.CONTEXT])
async def test_a_cut_or_filtered_answer_is_asked_for_again(tmp_path: Path, finish: Finish) -> None:
    cached = Cached(ScriptedLLM([make_completion("cut", finish), make_completion("whole")]), Cache(tmp_path / "c"))
    assert (await cached.complete(ASK)).finish is finish
    assert (await cached.complete(ASK)).message.content == "whole"


async def test_an_error_is_not_cached_and_reaches_every_waiting_caller(tmp_path: Path) -> None:
    cached = Cached(ScriptedLLM([ProviderError("down"), "up"]), Cache(tmp_path / "c"))
    results = await asyncio.gather(*(cached.complete(ASK) for _ in range(3)), return_exceptions=True)
    assert [type(result) for result in results] == [ProviderError] * 3
    assert (await cached.complete(ASK)).message.content == "up"


async def test_equal_concurrent_requests_are_one_call(tmp_path: Path) -> None:
    model = ScriptedLLM(["one"])
    cached = Cached(model, Cache(tmp_path / "c"))
    answers = await asyncio.gather(*(cached.complete(ASK) for _ in range(50)))
    assert len(model.requests) == 1
    assert {answer.message.content for answer in answers} == {"one"}


async def test_a_caller_that_gives_up_does_not_cancel_the_call_for_others(tmp_path: Path) -> None:
    slow = Slow(ScriptedLLM(["one"]))
    cached = Cached(slow, Cache(tmp_path / "c"))
    first, second = (asyncio.create_task(cached.complete(ASK)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    slow.go.set()
    assert (await second).message.content == "one"
    assert slow.cancelled == 0


async def test_a_call_without_callers_is_cancelled_and_can_be_made_again(tmp_path: Path) -> None:
    slow = Slow(ScriptedLLM(["one"]))
    cached = Cached(slow, Cache(tmp_path / "c"))
    first = asyncio.create_task(cached.complete(ASK))
    await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.sleep(0)
    second = asyncio.create_task(cached.complete(ASK))
    await asyncio.sleep(0.01)
    assert slow.cancelled == 1
    slow.go.set()
    assert (await second).message.content == "one"


async def test_a_cached_answer_of_another_shape_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    cache.put(request_digest(ASK), b'{"old": "shape"}')
    assert (await Cached(ScriptedLLM(["new"]), cache).complete(ASK)).message.content == "new"


async def test_the_ledger_separates_paid_from_cached_by_role(tmp_path: Path) -> None:
    cached = Cached(Counted(ScriptedLLM(lambda _: make_completion("x"))), Cache(tmp_path / "c"))
    judge = ASK.model_copy(update={"output": Schema(name="verdict", body={})})
    with counting() as ledger:
        await asyncio.gather(*(cached.complete(ASK) for _ in range(4)), cached.complete(judge))
    with counting() as cached_ledger:
        await cached.complete(ASK)
    assert (ledger.spending.roles["answer"].paid.calls, ledger.spending.roles["answer"].cached.calls) == (1, 3)
    assert ledger.spending.roles["verdict"].paid == Usage(calls=1, prompt_tokens=7, completion_tokens=2)
    assert cached_ledger.spending.roles["answer"].paid == Usage()
    assert cached_ledger.spending.roles["answer"].cached.prompt_tokens == 7


async def test_usage_without_the_cache_counts_a_repeated_request_once(tmp_path: Path) -> None:
    cached = Cached(Counted(ScriptedLLM(lambda _: make_completion("x"))), Cache(tmp_path / "c"))
    second_sample = ASK.model_copy(update={"sample": 1})
    spendings = []
    for _ in range(2):
        with counting() as ledger:
            for request in (ASK, second_sample, ASK, ASK):
                await cached.complete(request)
        spendings.append(ledger.spending)
    first, second = (spending.by_model["m"] for spending in spendings)
    assert (first.paid.calls, first.cached.calls, first.repeated.calls) == (2, 2, 2)
    assert (second.paid.calls, second.cached.calls, second.repeated.calls) == (0, 4, 2)
    assert first.fresh == second.fresh == Usage(calls=2, prompt_tokens=14, completion_tokens=4)


async def test_the_ledger_counts_failed_calls() -> None:
    with counting() as ledger, pytest.raises(ProviderError):
        await Counted(ScriptedLLM([ProviderError("down")])).complete(ASK)
    assert ledger.spending.roles["answer"].errors == 1
    assert ledger.spending.roles["answer"].paid == Usage()
