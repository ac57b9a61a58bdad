"""The client against a scripted server on the loopback."""

import asyncio
import logging
import traceback
from typing import Any

import orjson
import pytest

from pipeline.agents.judge import VERDICT
from pipeline.config.models import ModelConfig
from pipeline.errors import ProviderError, RequestRefused, UsageError
from pipeline.llm import connection
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.ledger import Counted, counting
from pipeline.llm.openai import OpenAIModel
from pipeline.llm.repetition import STEP
from pipeline.llm.token_estimate import size
from pipeline.types import Message, Usage
from tests.chaos.faulty_server import PAGE, FaultyServer, Reply, Script
from tests.llm.wire import GOOD, KEY, REQUEST, WITH_TOOLS, make_client, make_error, set_environment

__all__ = ["set_environment"]


async def ask(script: Script, request: Request = REQUEST, **limits: Any) -> tuple[Completion, FaultyServer]:
    async with FaultyServer(script=script) as server:
        model = make_client(server.url, **limits)
        completion = await model.complete(request)
        return completion, server


async def test_an_answer_is_read_and_the_key_is_sent_as_a_header() -> None:
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
async def test_temporary_failures_are_retried(bad: Reply) -> None:
    completion, server = await ask(lambda number, body: bad if number < 2 else GOOD)
    assert completion.message.content == "yes"
    assert len(server.asked) == 3
    assert server.asked[0] == server.asked[2]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (make_error(401, message=f"bad key {KEY}"), "environment variable THE_KEY"),
        (Reply(401, b'{"error": "Unauthorized"}'), "environment variable THE_KEY"),
        (Reply(403, KEY.encode()), "environment variable THE_KEY"),
        (make_error(404, message="The model `m` does not exist"), "The model `m` does not exist"),
        (Reply(404, PAGE), "the address is wrong"),
        (make_error(429, code="insufficient_quota"), "THE_KEY"),
        (Reply(308, b"", (("Location", "http://127.0.0.1:1/elsewhere"),)), "base_url"),
        (make_error(400, message=f"nonsense {KEY}"), r"nonsense \[THE_KEY\]"),
    ],
)
async def test_errors_that_waiting_cannot_mend_stop_at_once_with_one_line(bad: Reply, message: str) -> None:
    async with FaultyServer(script=lambda number, body: bad) as server:
        with pytest.raises(ProviderError, match=message) as caught:
            await make_client(server.url).complete(REQUEST)
    assert caught.value.then == "stop"
    # A refusal that may be this request's fault is retried, and then compared with the plainest request.
    assert len(server.asked) == (4 if bad.status in (400, 403) else 1)
    assert "\n" not in str(caught.value)
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_a_key_that_cannot_be_sent_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("sk-can\nary", "sk-canäry"):
        monkeypatch.setenv("THE_KEY", key)
        async with FaultyServer() as server:
            with pytest.raises(UsageError, match="THE_KEY is not a valid key") as caught:
                await make_client(server.url, attempts=1).complete(REQUEST)
        assert "sk-can" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "bad",
    [
        make_error(400, message="This model's maximum context length is 4096 tokens", type="BadRequestError", code=400),
        make_error(400, message="too long", type="exceed_context_size_error", n_prompt_tokens=9000, n_ctx=4096),
        make_error(400, message="too long", code="context_length_exceeded"),
    ],
)
async def test_an_overflow_is_a_finish_of_its_own(bad: Reply) -> None:
    completion, server = await ask(lambda number, body: bad)
    assert (completion.finish, completion.message, len(server.asked)) == (
        Finish.CONTEXT, Message(role="assistant"), 1,
    )  # fmt: skip


async def test_refused_parameters_are_given_up_for_good_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    def picky(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        for name in ("seed", "temperature", "max_completion_tokens"):
            if name in body:
                return make_error(400, message=f"Unsupported parameter: '{name}'", param=name)
        return GOOD

    async with FaultyServer(script=picky) as server:
        model = make_client(server.url)
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                await model.complete(WITH_TOOLS)
    assert len(server.asked) == 3 + 3
    assert server.asked[-1]["max_tokens"] == STEP
    assert len(caplog.records) == 3


async def test_a_server_without_structured_output_gets_the_schema_as_text() -> None:
    def plain(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        if "response_format" in body:
            return make_error(400, message="response_format is not supported")
        content = '```json\n{"correct": true, "reason": ""}\n```'
        return {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}

    completion, _ = await ask(plain, REQUEST.model_copy(update={"output": VERDICT}))
    assert completion.message.content == '{"correct": true, "reason": ""}'


async def test_a_server_without_tools_refuses_unless_calls_are_text() -> None:
    def textual(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        if "tools" in body:
            return make_error(
                400, message='"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'
            )
        content = '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>'
        return {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}

    with pytest.raises(RequestRefused, match="--tool-call-parser"):
        await ask(textual, WITH_TOOLS)
    completion, server = await ask(textual, WITH_TOOLS.model_copy(update={"calls": "text"}))
    assert completion.finish is Finish.TOOL_CALLS
    assert completion.message.tool_calls[0].name == "search"
    assert '"search"' in server.asked[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    "refusal",
    [
        make_error(400, message="the message at position 5 with role 'assistant' must not be empty"),
        make_error(400, message="bad tools"),
        make_error(400, message="blocked by the content management policy", code="content_filter"),
        make_error(403, message="your input was flagged by moderation"),
        make_error(422, detail="no such field"),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
async def test_a_refused_request_is_retried_once_and_then_ends(refusal: Reply, times: int) -> None:
    async with FaultyServer(script=lambda n, body: refusal if 1 <= n <= times else GOOD) as server:
        model = make_client(server.url)
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
        assert server.asked[1] == server.asked[2], "the turns before it are in the server's cache"
        assert (await llm.complete(WITH_TOOLS)).finish is Finish.STOP
    assert all("tools" in body for body in server.asked if body["messages"][0]["content"] == "Who?")
    assert not model.pool.members[0].health.down


async def test_a_request_that_breaks_the_server_ends_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    def breaks(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        return make_error(500, message=f"list index out of range {KEY}") if "bad" in str(body["messages"]) else GOOD

    bad = REQUEST.model_copy(update={"messages": (Message(role="user", content="bad"),)})
    async with FaultyServer(script=breaks) as server:
        model = make_client(server.url, attempts=4)
        task = asyncio.create_task(model.complete(bad))
        while not task.done():
            assert (await model.complete(REQUEST)).finish is Finish.STOP
    assert isinstance(task.exception(), RequestRefused)
    assert "list index out of range [THE_KEY]" in caplog.text


@pytest.mark.parametrize(
    "tree",
    [
        {"error": {"message": f"the model {KEY} is not loaded", "code": 503}},
        {"choices": [{"message": {"content": ""}, "finish_reason": "error", "error": "is not loaded"}]},
    ],
)
async def test_an_error_with_a_good_status_is_reported_in_its_own_words(tree: dict[str, Any]) -> None:
    async with FaultyServer(script=lambda number, body: tree) as server:
        with pytest.raises(ProviderError, match="is not loaded") as caught:
            await make_client(server.url, attempts=2).complete(REQUEST)
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_tokens_that_a_server_does_not_report_are_estimated(caplog: pytest.LogCaptureFixture) -> None:
    long = REQUEST.model_copy(update={"messages": (Message(role="user", content="Who? " * 80),)})
    estimated, _ = await ask(lambda number, body: {**GOOD, "usage": None}, long)
    assert (estimated.usage.prompt_tokens, estimated.usage.completion_tokens) == (
        size(long.messages),
        size([estimated.message]),
    )
    assert estimated.usage.prompt_tokens > 100
    assert "reports no token usage" in caplog.text
    reported, _ = await ask(lambda number, body: {**GOOD, "usage": {"prompt_tokens": 7, "completion_tokens": 1}}, long)
    assert (reported.usage.prompt_tokens, reported.usage.completion_tokens) == (7, 1)


async def test_an_answer_of_ten_megabytes_counts_as_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_BYTES", 100_000)
    completion, _ = await ask(lambda number, body: Reply(body=b" " * 10_000_000), timeout_seconds=10)
    assert (completion.finish, completion.message.content) == (Finish.LENGTH, "")


async def test_an_unreachable_server_is_an_endpoint_failure() -> None:
    async with FaultyServer() as server:
        pass
    with pytest.raises(ProviderError, match=r"the connection broke .*, 2 times in a row") as caught:
        await make_client(server.url, attempts=2).complete(REQUEST)
    assert caught.value.then == "requeue"


async def test_calls_in_flight_stay_within_the_limit_and_429_lowers_it() -> None:
    def slow(number: int, body: dict[str, Any]) -> Reply:
        return Reply(429) if number == 20 else Reply(wait=0.02, body=orjson.dumps(GOOD))

    async with FaultyServer(script=slow) as server:
        model = make_client(server.url, concurrency=8)
        await asyncio.gather(*(model.complete(REQUEST) for _ in range(60)))
        assert server.busiest == 8
        assert len(server.asked) == 61
        assert model.pool.members[0].limiter.cuts == 1


async def test_connections_are_kept_and_not_more_than_calls() -> None:
    broken = range(3, 40, 9)
    async with FaultyServer(script=lambda number, body: Reply(cut=-1) if number in broken else GOOD) as server:
        model = make_client(server.url, concurrency=4)
        await asyncio.gather(*(model.complete(REQUEST.model_copy(update={"sample": n})) for n in range(40)))
    # On a busy machine a kept connection may close just as it is used, which costs one more attempt.
    retries = len(server.asked) - 40
    assert retries >= len(broken)
    assert 4 <= server.connections <= 4 + retries


def test_each_event_loop_has_its_own_connections() -> None:
    async def complete_once() -> int:
        async with FaultyServer(script=lambda number, body: GOOD) as server:
            endpoint.config = endpoint.config.model_copy(update={"base_urls": (server.url,)})
            await model.complete(REQUEST)
            return id(endpoint._loop_client().connections)

    model = OpenAIModel(ModelConfig(provider="openai", model="m"), 0)
    (endpoint,) = model.pool.members
    assert asyncio.run(complete_once()) != 0
    assert asyncio.run(complete_once()) != 0


async def test_a_server_without_a_key_is_sent_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THE_KEY")
    _, server = await ask(lambda number, body: GOOD)
    assert "authorization" not in server.headers[0]


async def test_the_ledger_counts_billed_tokens_and_every_failed_attempt() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 30}}
    usage = {"prompt_tokens": 100, "completion_tokens": 40, **details}
    good = Reply(body=orjson.dumps({**GOOD, "usage": usage}))
    replies = [Reply(429), Reply(500), good, Reply(503), Reply(503), Reply(503)]
    async with FaultyServer(script=lambda number, body: replies[number]) as server:
        llm = Counted(make_client(server.url, attempts=3), lambda usage: float(usage.completion_tokens))
        with counting() as ledger:
            await llm.complete(REQUEST)
            with pytest.raises(ProviderError):
                await llm.complete(REQUEST.model_copy(update={"sample": 1}))
    spending = ledger.spending.by_model["m"]
    assert spending.paid == Usage(
        calls=1, prompt_tokens=100, completion_tokens=40, cached_tokens=60, reasoning_tokens=30
    ), "reasoning is part of the completion and not added to it"
    assert (spending.errors, spending.money) == (5, 40.0)
