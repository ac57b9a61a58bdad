"""A refusal leads to a concession, chosen by the field that it names first and by its words second."""

from typing import Any

import orjson
import pytest

from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.config.models import Sampling, ToolMode
from pipeline.errors import RequestRefused
from pipeline.llm.base import Finish, Request
from pipeline.llm.chat_body import body
from pipeline.llm.concessions import find_concession
from pipeline.llm.error_body import describe_error, parse_error
from pipeline.types import Message, ToolCall
from tests.chaos.faulty_server import FaultyServer, Reply
from tests.llm.wire import GOOD, WITH_TOOLS, make_client, make_error

CALLS = tuple(
    ToolCall(id=f"call0000{n}", name="search", arguments='{"query":"x"}', server_fields=fields)
    for n, fields in enumerate(('{"id":"functions.search:0","extra_content":{"a":1}}', '{"id":"functions.search:0"}'))
)
RESULTS = tuple(Message(role="tool", content=str(n), tool_call_id=call.id) for n, call in enumerate(CALLS))
OPENING = (Message(role="system", content="S"), Message(role="user", content="Q"))
HISTORY = (*OPENING, Message(role="assistant", tool_calls=CALLS, server_fields='{"reasoning_details":[1]}'), *RESULTS)
AGAIN = Message(role="user", content="Call one.")
EMPTY = Message(role="assistant", reasoning="hm")
GPT = "Function tools with reasoning_effort are not supported for gpt-5.6. To use function tools, use /v1/responses."


def make_request(*messages: Message, calls: ToolMode = "native", **fields: Any) -> Request:
    return Request(model="m", messages=messages, tools=SOLVER_TOOLS, calls=calls, **fields)


def make_messages(*messages: Message, without: tuple[str, ...] = (), **fields: Any) -> list[dict[str, Any]]:
    return body(make_request(*messages, **fields), 0, frozenset(without))["messages"]


@pytest.mark.parametrize(
    ("param", "text", "name"),
    [
        ("reasoning_effort", GPT, "reasoning_with_tools"),
        ("", GPT, "reasoning_with_tools"),
        ("temperature", "tools and top_p are fine", "temperature"),
        ("tools[0].function.strict", "Unknown parameter", "strict"),
        ("tools.0.function.parameters.additionalProperties", "Extra inputs", "additionalProperties"),
        ("tools", "Invalid value", "strict"),
        ("", 'Unknown name "additionalProperties" at tools[0].function_declarations[0]', "additionalProperties"),
        ("messages[0].role", "'messages[0].role' does not support 'system' with this model.", "system_role"),
        ("", "System role not supported", "system_role"),
        ("", "Developer instruction is not enabled for models/gemma-3-27b-it", "system_role"),
        ("", "Conversation roles must alternate user/assistant/user/assistant/...", "user_after_tool"),
        ("", "3230 Unexpected role 'user' after role 'tool'", "user_after_tool"),
        ("messages.3.content", "Input should be a valid string", "null_content"),
        ("", "messages: text content blocks must be non-empty", "null_content"),
        ("", "property 'reasoning_content' is unsupported", "reasoning_content"),
        ("messages.2.assistant.reasoning", "Extra inputs are not permitted", "reasoning"),
        ("", "Tool call id was functions.search:0 but must be a-z, with a length of 9.", "server_ids"),
        ("", "tool_choice 'specified' is incompatible with thinking enabled", "tool_choice"),
        ("", "The `reasoning_content` in the thinking mode must be passed back to the API.", ""),
        ("", "thinking is enabled but reasoning_content is missing in assistant message at index 2", ""),
        ("", "registry.ollama.ai/x does not support tools", ""),
        ("", "Something we have never heard of", ""),
    ],
)
def test_the_field_that_an_error_names_takes_precedence_over_its_words(param: str, text: str, name: str) -> None:
    assert find_concession(param, text, frozenset(), lambda name: True) == name


def test_one_name_of_reasoning_is_always_sent() -> None:
    text = "property 'reasoning' is unsupported"
    assert find_concession("", text, frozenset(), lambda name: True) == "reasoning"
    assert not find_concession("", text, frozenset({"reasoning_content"}), lambda name: True)


@pytest.mark.parametrize(
    ("tree", "message", "param", "status"),
    [
        ([{"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}}], "no", "", 400),
        ({"error": {"message": "no", "param": "seed", "code": None}}, "no", "seed", None),
        ({"object": "error", "message": "no", "type": "invalid_request_error", "code": "3230"}, "no", "", 400),
        ({"detail": [{"loc": ["body", "messages", 2, "content"], "msg": "bad"}]}, "bad", "messages.2.content", None),
        (
            {"error": {"message": "Provider", "code": 429, "metadata": {"raw": '{"error":{"message":"no"}}'}}},
            "no",
            "",
            429,
        ),
        ({"error": {"message": "no", "type": "rate_limit_error"}}, "no", "", 429),
        ({"error": "no"}, "no", "", None),
        ({"error": {"message": "no"}, "code": 503}, "no", "", 503),
        ("no", "no", "", None),
    ],
)
def test_errors_of_every_shape_are_read(tree: Any, message: str, param: str, status: int | None) -> None:
    described = describe_error(tree)
    assert message in described.message
    assert (described.param, described.status) == (param, status)
    assert parse_error(orjson.dumps(tree)) == described


def test_a_concession_that_does_not_change_the_request_leaves_its_bytes() -> None:
    """A server that refuses empty content is therefore not sent the same bytes again."""
    assert body(make_request(*OPENING), 0) == body(
        make_request(*OPENING), 0, frozenset({"null_content", "user_after_tool"})
    )


async def test_a_concession_that_does_not_help_is_reverted() -> None:
    def picky(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        return make_error(400, message="a bad seed") if len(body["messages"]) > 1 else GOOD

    two_messages = WITH_TOOLS.model_copy(update={"messages": OPENING})
    async with FaultyServer(script=picky) as server:
        model = make_client(server.url)
        with pytest.raises(RequestRefused):
            await model.complete(two_messages)
        await model.complete(WITH_TOOLS)
    assert "seed" not in server.asked[1]
    assert "seed" in server.asked[-1]


@pytest.mark.parametrize("effort", [None, "high"])
async def test_tools_are_sent_without_reasoning_if_a_server_requires_it_unless_an_effort_is_set(
    effort: str | None,
) -> None:
    def gpt(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        if body.get("tools") and body.get("reasoning_effort") != "none":
            return make_error(400, message=GPT, param="reasoning_effort")
        return GOOD

    sampling = Sampling(extra_body={"reasoning_effort": effort} if effort else None)
    request = WITH_TOOLS.model_copy(update={"sampling": sampling})
    async with FaultyServer(script=gpt) as server:
        model = make_client(server.url)
        if effort:
            with pytest.raises(RequestRefused, match="reasoning_effort"):
                await model.complete(request)
        else:
            assert (await model.complete(request)).message.content == "yes"
            await model.complete(request.model_copy(update={"tools": ()}))
            assert "reasoning_effort" not in server.asked[-1]
    assert all("tools" in body for body in server.asked[:2])


@pytest.mark.parametrize("mode", ["text", "schema"])
def test_the_results_of_one_turn_are_one_user_message(mode: ToolMode) -> None:
    messages = make_messages(*HISTORY, calls=mode)
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[3]["content"].count("<tool_response>") == 2


def test_neighbouring_user_messages_are_merged_and_an_empty_turn_is_left_out() -> None:
    messages = make_messages(*OPENING, EMPTY, AGAIN)
    assert [(message["role"], message["content"]) for message in messages] == [
        ("system", "S"),
        ("user", "Q\n\nCall one."),
    ]
    after_tool = [message["role"] for message in make_messages(*HISTORY, EMPTY, AGAIN)]
    assert after_tool[-2:] == ["tool", "user"]
    conceded = make_messages(*HISTORY, EMPTY, AGAIN, without=("user_after_tool",))
    assert [message["role"] for message in conceded][-3:] == ["tool", "assistant", "user"]
    assert conceded[: len(HISTORY)] == make_messages(*HISTORY, without=("user_after_tool",))


def test_a_refused_system_prompt_opens_the_first_user_message() -> None:
    assert make_messages(*OPENING, without=("system_role",)) == [{"role": "user", "content": "S\n\nQ"}]


def test_a_call_without_text_has_no_empty_content() -> None:
    assert make_messages(*HISTORY)[2]["content"] is None
    assert "content" not in make_messages(*HISTORY, without=("null_content",))[2]
    assert make_messages(*HISTORY, without=("null_content", "empty_content"))[2]["content"] == ""


def test_server_fields_are_sent_back_and_repeated_ids_are_replaced() -> None:
    messages = make_messages(*HISTORY)
    first, second = messages[2]["tool_calls"]
    assert (first["id"], first["extra_content"]) == ("functions.search:0", {"a": 1})
    assert second["id"] == "call00001"
    assert [message["tool_call_id"] for message in messages[3:]] == ["functions.search:0", "call00001"]
    assert "reasoning_details" not in str(messages)
    assert make_messages(*HISTORY, thoughts=True)[2]["reasoning_details"] == [1]
    assert make_messages(*HISTORY, thoughts=True)[2]["reasoning_content"] == ""
    renamed = make_messages(*HISTORY, without=("server_ids",))
    assert [call["id"] for call in renamed[2]["tool_calls"]] == ["call00000", "call00001"]


@pytest.mark.parametrize("length", range(2, 6))
def test_a_prefix_of_a_conversation_has_the_same_bytes(length: int) -> None:
    for without in ((), ("server_ids", "null_content", "user_after_tool"), ("system_role",)):
        full, prefix = make_messages(*HISTORY, without=without), make_messages(*HISTORY[:length], without=without)
        assert orjson.dumps(full).startswith(orjson.dumps(prefix)[:-1])


@pytest.mark.parametrize(
    ("generation", "names"),
    [
        ('<function=search>{"query": "x"}</function>', ["search"]),
        ("I would rather talk about the weather.", []),
        ("", []),
    ],
)
async def test_a_call_that_groq_cannot_read_is_a_turn_of_the_model(generation: str, names: list[str]) -> None:
    refusal = make_error(
        400, message="Failed to call a function.", code="tool_use_failed", failed_generation=generation
    )
    async with FaultyServer(script=lambda number, body: refusal) as server:
        answer = await make_client(server.url).complete(WITH_TOOLS)
    assert len(server.asked) == 1
    assert [call.name for call in answer.message.tool_calls] == names
    assert answer.finish is (Finish.TOOL_CALLS if names else Finish.STOP)
    assert answer.usage.prompt_tokens > 0


@pytest.mark.parametrize(
    "choice",
    [
        {"finish_reason": "function_call_filter: MALFORMED_FUNCTION_CALL", "index": 0},
        {"finish_reason": "MALFORMED_FUNCTION_CALL", "message": {"role": "assistant"}},
        {"finish_reason": "function_call_filter: UNEXPECTED_TOOL_CALL", "message": None},
    ],
)
async def test_a_call_that_gemini_cannot_read_is_a_turn_without_a_call(choice: dict[str, Any]) -> None:
    async with FaultyServer(script=lambda number, body: {"choices": [choice]}) as server:
        answer = await make_client(server.url).complete(WITH_TOOLS)
    assert (answer.finish, answer.message.tool_calls, len(server.asked)) == (Finish.STOP, (), 1)


async def test_an_error_within_a_200_is_handled_as_its_status() -> None:
    def answer(number: int, body: dict[str, Any]) -> dict[str, Any]:
        if number == 0:
            return {"error": {"message": "slow down", "code": 429}}
        if "seed" in body:
            refusal = {"code": 400, "message": "Unknown parameter: seed"}
            return {"choices": [{"error": refusal, "finish_reason": "error"}]}
        return GOOD

    async with FaultyServer(script=answer) as server:
        model = make_client(server.url)
        assert (await model.complete(WITH_TOOLS)).message.content == "yes"
    assert len(server.asked) == 3
    assert model.pool.members[0].limiter.cuts == 1
