"""The client against a server on the loopback that answers as it is told to."""

import asyncio
import logging
import traceback
from typing import Any

import orjson
import pytest

from pipeline.agents.judge import VERDICT
from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.config.models import Limits, ModelConfig
from pipeline.errors import ProviderError, RequestRefused, UsageError
from pipeline.llm import connection, retry
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.ledger import Counted, counting
from pipeline.llm.openai import OpenAIModel
from pipeline.llm.repetition import STEP
from pipeline.llm.token_estimate import size
from pipeline.types import Message, Usage
from tests.chaos.faulty_server import PAGE, FaultyServer, Reply, Script

KEY = "sk-canary-8f3a61"
REQUEST = Request(model="m", messages=(Message(role="user", content="Who?"),))
WITH_TOOLS = REQUEST.model_copy(update={"tools": SOLVER_TOOLS})
GOOD: dict[str, Any] = {
    "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 2, "completion_tokens": 1},
}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "BASE", 0.002)
    monkeypatch.setenv("THE_KEY", KEY)


def client(url: str, **limits: Any) -> OpenAIModel:
    told = Limits(**{"timeout_seconds": 0.5, **limits})
    return OpenAIModel(ModelConfig(provider="openai", model="m", base_url=url, api_key_env="THE_KEY", limits=told), 0)


async def ask(script: Script, request: Request = REQUEST, **limits: Any) -> tuple[Completion, FaultyServer]:
    async with FaultyServer(script=script) as server:
        model = client(server.url, **limits)
        completion = await model.complete(request)
        return completion, server


def error(status: int, **tree: Any) -> Reply:
    return Reply(status, orjson.dumps({"error": tree}))


async def test_an_answer_and_the_key_where_it_belongs() -> None:
    completion, server = await ask(lambda number, body: GOOD)
    assert (completion.message.content, completion.usage.calls) == ("yes", 1)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.asked[0]["messages"] == [{"role": "user", "content": "Who?"}]


@pytest.mark.parametrize(
    "bad",
    [
        Reply(429), Reply(429, b"", (("Retry-After", "0.01"),)), Reply(500, PAGE), Reply(502, PAGE), Reply(503),
        Reply(cut=-1), Reply(cut=0, body=b"x" * 50), Reply(200, PAGE), Reply(200, b'{"choices": [{"mess'),
        Reply(200, b"{}"), Reply(200, b'{"error": "out of memory"}'), Reply(200, b"null"), Reply(wait=5),
        Reply(500, b'{"error": "text"}'), Reply(500, b'{"detail": [{"msg": "x"}]}'), Reply(500, b'"text"'),
        Reply(500, b"\xff\xfe"), Reply(408), Reply(409),
    ],
    ids=str,
)  # fmt: skip
async def test_what_passes_is_tried_again(bad: Reply) -> None:
    completion, server = await ask(lambda number, body: bad if number < 2 else GOOD)
    assert completion.message.content == "yes"
    assert len(server.asked) == 3
    assert server.asked[0] == server.asked[2]


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        (error(401, message=f"bad key {KEY}"), "environment variable THE_KEY"),
        (Reply(401, b'{"error": "Unauthorized"}'), "environment variable THE_KEY"),
        (Reply(403, KEY.encode()), "environment variable THE_KEY"),
        (error(404, message="The model `m` does not exist"), "The model `m` does not exist"),
        (Reply(404, PAGE), "the address is wrong"),
        (error(429, code="insufficient_quota"), "THE_KEY"),
        (Reply(308, b"", (("Location", "http://127.0.0.1:1/elsewhere"),)), "base_url"),
        (error(400, message=f"nonsense {KEY}"), r"nonsense \[THE_KEY\]"),
    ],
)
async def test_what_no_waiting_mends_stops_with_one_line_at_once(bad: Reply, named: str) -> None:
    async with FaultyServer(script=lambda number, body: bad) as server:
        with pytest.raises(ProviderError, match=named) as caught:
            await client(server.url).complete(REQUEST)
    assert caught.value.then == "stop"
    # What may be this request's own fault is sent again, and then held against the plainest one.
    assert len(server.asked) == (4 if bad.status in (400, 403) else 1)
    assert "\n" not in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_a_key_that_cannot_be_sent_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("sk-can\nary", "sk-canäry"):
        monkeypatch.setenv("THE_KEY", key)
        async with FaultyServer() as server:
            with pytest.raises(UsageError, match="THE_KEY is not a valid key") as caught:
                await client(server.url, attempts=1).complete(REQUEST)
        assert "sk-can" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "bad",
    [
        error(400, message="This model's maximum context length is 4096 tokens", type="BadRequestError", code=400),
        error(400, message="too long", type="exceed_context_size_error", n_prompt_tokens=9000, n_ctx=4096),
        error(400, message="too long", code="context_length_exceeded"),
    ],
)
async def test_an_overflow_is_an_answer_of_its_own(bad: Reply) -> None:
    completion, server = await ask(lambda number, body: bad)
    assert (completion.finish, completion.message, len(server.asked)) == (
        Finish.CONTEXT, Message(role="assistant"), 1,
    )  # fmt: skip


async def test_refused_parameters_are_given_up_from_then_on_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    def picky(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        for name in ("seed", "temperature", "max_completion_tokens"):
            if name in body:
                return error(400, message=f"Unsupported parameter: '{name}'", param=name)
        return GOOD

    async with FaultyServer(script=picky) as server:
        model = client(server.url)
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                await model.complete(WITH_TOOLS)
    assert len(server.asked) == 3 + 3
    assert server.asked[-1]["max_tokens"] == STEP
    assert len(caplog.records) == 3


async def test_a_server_without_structured_output_is_told_the_schema() -> None:
    def plain(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        if "response_format" in body:
            return error(400, message="response_format is not supported")
        said = '```json\n{"correct": true, "reason": ""}\n```'
        return {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}

    completion, _ = await ask(plain, REQUEST.model_copy(update={"output": VERDICT}))
    assert completion.message.content == '{"correct": true, "reason": ""}'


async def test_a_server_without_tools_refuses_and_is_asked_in_text_where_a_run_says_so() -> None:
    def textual(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        if "tools" in body:
            return error(400, message='"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser')
        said = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>'
        return {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}

    with pytest.raises(RequestRefused, match="--tool-call-parser"):
        await ask(textual, WITH_TOOLS)
    completion, server = await ask(textual, WITH_TOOLS.model_copy(update={"calls": "text"}))
    assert completion.finish is Finish.TOOL_CALLS
    assert completion.message.tool_calls[0].name == "search"
    assert '"search"' in server.asked[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    "refusal",
    [
        error(400, message="the message at position 5 with role 'assistant' must not be empty"),
        error(400, message="bad tools"),
        error(400, message="blocked by the content management policy", code="content_filter"),
        error(403, message="your input was flagged by moderation"),
        error(422, detail="no such field"),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
async def test_a_refused_request_is_sent_again_and_is_no_answer(refusal: Reply, times: int) -> None:
    """One refusal changes nothing; two in a row end the request, and it alone."""
    async with FaultyServer(script=lambda n, body: refusal if 1 <= n <= times else GOOD) as server:
        model = client(server.url)
        llm = Counted(model)
        assert (await llm.complete(WITH_TOOLS)).finish is Finish.STOP
        with counting() as ledger:
            if times == 1:
                assert (await llm.complete(WITH_TOOLS)).finish is Finish.STOP
            else:
                with pytest.raises(RequestRefused) as caught:
                    await llm.complete(WITH_TOOLS)
                assert f"refused a request ({refusal.status}" in str(caught.value)
                assert "\n" not in str(caught.value)
        assert (ledger.spending.total.refused, ledger.spending.total.errors) == (times, times)
        assert server.asked[1] == server.asked[2], "the same request: the turns before it are in the cache"
        assert (await llm.complete(WITH_TOOLS)).finish is Finish.STOP
    assert all("tools" in body for body in server.asked if body["messages"][0]["content"] == "Who?")
    assert not model.pool.members[0].health.down


async def test_a_request_that_breaks_the_server_ends_itself_only(caplog: pytest.LogCaptureFixture) -> None:
    def breaks(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        return error(500, message=f"list index out of range {KEY}") if "bad" in str(body["messages"]) else GOOD

    bad = REQUEST.model_copy(update={"messages": (Message(role="user", content="bad"),)})
    async with FaultyServer(script=breaks) as server:
        model = client(server.url, attempts=4)
        given_up = asyncio.create_task(model.complete(bad))
        while not given_up.done():
            assert (await model.complete(REQUEST)).finish is Finish.STOP
    assert isinstance(given_up.exception(), RequestRefused)
    assert "list index out of range [THE_KEY]" in caplog.text


@pytest.mark.parametrize(
    "said",
    [
        {"error": {"message": f"the model {KEY} is not loaded", "code": 503}},
        {"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": "is not loaded"}]},
    ],
)
async def test_an_error_with_a_good_status_is_told_in_its_own_words(said: dict[str, Any]) -> None:
    async with FaultyServer(script=lambda number, body: said) as server:
        with pytest.raises(ProviderError, match="is not loaded") as caught:
            await client(server.url, attempts=2).complete(REQUEST)
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_tokens_that_a_server_does_not_tell_are_guessed(caplog: pytest.LogCaptureFixture) -> None:
    long = REQUEST.model_copy(update={"messages": (Message(role="user", content="Who? " * 80),)})
    untold, _ = await ask(lambda number, body: {**GOOD, "usage": None}, long)
    assert (untold.usage.prompt_tokens, untold.usage.completion_tokens) == (size(long.messages), size([untold.message]))
    assert untold.usage.prompt_tokens > 100
    assert "reports no token usage" in caplog.text
    told, _ = await ask(lambda number, body: {**GOOD, "usage": {"prompt_tokens": 7, "completion_tokens": 1}}, long)
    assert (told.usage.prompt_tokens, told.usage.completion_tokens) == (7, 1)


async def test_an_answer_of_ten_megabytes_counts_as_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_BYTES", 100_000)
    completion, _ = await ask(lambda number, body: Reply(body=b" " * 10_000_000), timeout_seconds=10)
    assert (completion.finish, completion.message.content) == (Finish.LENGTH, "")


async def test_nobody_there_is_a_failure_of_the_endpoint() -> None:
    async with FaultyServer() as server:
        pass
    with pytest.raises(ProviderError, match=r"the connection broke .*, 2 times in a row") as caught:
        await client(server.url, attempts=2).complete(REQUEST)
    assert caught.value.then == "requeue"


async def test_calls_in_flight_are_those_allowed_and_429_lowers_them() -> None:
    def slow(number: int, body: dict[str, Any]) -> Reply:
        return Reply(429) if number == 20 else Reply(wait=0.02, body=orjson.dumps(GOOD))

    async with FaultyServer(script=slow) as server:
        model = client(server.url, concurrency=8)
        await asyncio.gather(*(model.complete(REQUEST) for _ in range(60)))
        assert server.busiest == 8
        assert len(server.asked) == 61
        assert model.pool.members[0].limiter.cuts == 1


async def test_connections_are_kept_as_many_as_calls_and_no_more() -> None:
    broken = range(3, 40, 9)
    async with FaultyServer(script=lambda number, body: Reply(cut=-1) if number in broken else GOOD) as server:
        model = client(server.url, concurrency=4)
        await asyncio.gather(*(model.complete(REQUEST.model_copy(update={"sample": n})) for n in range(40)))
    # On a busy machine a kept connection may close just as it is used, which is one more try.
    again = len(server.asked) - 40
    assert again >= len(broken)
    assert 4 <= server.connections <= 4 + again


def test_each_event_loop_has_a_client_of_its_own() -> None:
    async def once() -> int:
        async with FaultyServer(script=lambda number, body: GOOD) as server:
            endpoint.config = endpoint.config.model_copy(update={"base_urls": (server.url,)})
            await made.complete(REQUEST)
            return id(endpoint._loop_client().connections)

    made = OpenAIModel(ModelConfig(provider="openai", model="m"), 0)
    (endpoint,) = made.pool.members
    assert asyncio.run(once()) != 0
    assert asyncio.run(once()) != 0


async def test_without_a_key_servers_that_want_none_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THE_KEY")
    _, server = await ask(lambda number, body: GOOD)
    assert "authorization" not in server.headers[0]


async def test_the_ledger_counts_what_the_server_bills_and_every_try_that_failed() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 30}}
    usage = {"prompt_tokens": 100, "completion_tokens": 40, **details}
    good = Reply(body=orjson.dumps({**GOOD, "usage": usage}))
    replies = [Reply(429), Reply(500), good, Reply(503), Reply(503), Reply(503)]
    async with FaultyServer(script=lambda number, body: replies[number]) as server:
        llm = Counted(client(server.url, attempts=3), lambda usage: float(usage.completion_tokens))
        with counting() as ledger:
            await llm.complete(REQUEST)
            with pytest.raises(ProviderError):
                await llm.complete(REQUEST.model_copy(update={"sample": 1}))
    spent = ledger.spending.by_model["m"]
    assert spent.paid == Usage(
        calls=1, prompt_tokens=100, completion_tokens=40, cached_tokens=60, reasoning_tokens=30
    ), "thoughts are part of the completion and not added to it"
    assert (spent.errors, spent.money) == (5, 40.0)
