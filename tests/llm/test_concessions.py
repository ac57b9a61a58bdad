"""What a refusal leads to, by the field that it names first and by its words second."""

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
from tests.llm.test_openai import GOOD, WITH_TOOLS, client, error

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


def request(*messages: Message, calls: ToolMode = "native", **fields: Any) -> Request:
    return Request(model="m", messages=messages, tools=SOLVER_TOOLS, calls=calls, **fields)


def sent(*messages: Message, without: tuple[str, ...] = (), **fields: Any) -> list[dict[str, Any]]:
    return body(request(*messages, **fields), 0, frozenset(without))["messages"]


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
def test_the_field_that_an_error_names_counts_before_its_words(param: str, text: str, name: str) -> None:
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
def test_errors_are_read_in_every_shape(tree: Any, message: str, param: str, status: int | None) -> None:
    error = describe_error(tree)
    assert message in error.message
    assert (error.param, error.status) == (param, status)
    assert parse_error(orjson.dumps(tree)) == error


def test_a_concession_that_does_not_change_the_request_is_not_made() -> None:
    """So a server that refuses an empty content is not tried again with the same bytes."""
    assert body(request(*OPENING), 0) == body(request(*OPENING), 0, frozenset({"null_content", "user_after_tool"}))


async def test_a_concession_that_does_not_help_is_taken_back() -> None:
    def picky(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        return error(400, message="a bad seed") if len(body["messages"]) > 1 else GOOD

    two = WITH_TOOLS.model_copy(update={"messages": OPENING})
    async with FaultyServer(script=picky) as server:
        model = client(server.url)
        with pytest.raises(RequestRefused):
            await model.complete(two)
        await model.complete(WITH_TOOLS)
    assert "seed" not in server.asked[1]
    assert "seed" in server.asked[-1]


@pytest.mark.parametrize("effort", [None, "high"])
async def test_tools_go_without_reasoning_where_a_server_wants_that_unless_an_effort_is_set(effort: str | None) -> None:
    def gpt(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        if body.get("tools") and body.get("reasoning_effort") != "none":
            return error(400, message=GPT, param="reasoning_effort")
        return GOOD

    sampling = Sampling(extra_body={"reasoning_effort": effort} if effort else None)
    asked = WITH_TOOLS.model_copy(update={"sampling": sampling})
    async with FaultyServer(script=gpt) as server:
        model = client(server.url)
        if effort:
            with pytest.raises(RequestRefused, match="reasoning_effort"):
                await model.complete(asked)
        else:
            assert (await model.complete(asked)).message.content == "yes"
            await model.complete(asked.model_copy(update={"tools": ()}))
            assert "reasoning_effort" not in server.asked[-1]
    assert all("tools" in body for body in server.asked[:2])


@pytest.mark.parametrize("mode", ["text", "schema"])
def test_the_results_of_one_turn_are_one_message_of_the_user(mode: ToolMode) -> None:
    messages = sent(*HISTORY, calls=mode)
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[3]["content"].count("<tool_response>") == 2


def test_neighbouring_users_are_one_and_an_empty_turn_is_left_out() -> None:
    messages = sent(*OPENING, EMPTY, AGAIN)
    assert [(message["role"], message["content"]) for message in messages] == [
        ("system", "S"),
        ("user", "Q\n\nCall one."),
    ]
    after_tool = [message["role"] for message in sent(*HISTORY, EMPTY, AGAIN)]
    assert after_tool[-2:] == ["tool", "user"]
    answered = sent(*HISTORY, EMPTY, AGAIN, without=("user_after_tool",))
    assert [message["role"] for message in answered][-3:] == ["tool", "assistant", "user"]
    assert answered[: len(HISTORY)] == sent(*HISTORY, without=("user_after_tool",))


def test_a_system_prompt_that_is_refused_opens_the_first_message_of_the_user() -> None:
    assert sent(*OPENING, without=("system_role",)) == [{"role": "user", "content": "S\n\nQ"}]


def test_a_call_without_a_text_has_no_empty_one_beside_it() -> None:
    assert sent(*HISTORY)[2]["content"] is None
    assert "content" not in sent(*HISTORY, without=("null_content",))[2]
    assert sent(*HISTORY, without=("null_content", "empty_content"))[2]["content"] == ""


def test_what_the_server_gave_goes_back_and_ids_that_it_repeats_are_ours() -> None:
    messages = sent(*HISTORY)
    first, second = messages[2]["tool_calls"]
    assert (first["id"], first["extra_content"]) == ("functions.search:0", {"a": 1})
    assert second["id"] == "call00001"
    assert [message["tool_call_id"] for message in messages[3:]] == ["functions.search:0", "call00001"]
    assert "reasoning_details" not in str(messages)
    assert sent(*HISTORY, thoughts=True)[2]["reasoning_details"] == [1]
    assert sent(*HISTORY, thoughts=True)[2]["reasoning_content"] == ""
    ours = sent(*HISTORY, without=("server_ids",))
    assert [call["id"] for call in ours[2]["tool_calls"]] == ["call00000", "call00001"]


@pytest.mark.parametrize("places", range(2, 6))
def test_a_prefix_of_a_conversation_has_the_same_bytes(places: int) -> None:
    for without in ((), ("server_ids", "null_content", "user_after_tool"), ("system_role",)):
        whole, part = sent(*HISTORY, without=without), sent(*HISTORY[:places], without=without)
        assert orjson.dumps(whole).startswith(orjson.dumps(part)[:-1])


@pytest.mark.parametrize(
    ("generation", "names"),
    [
        ('<function=search>{"query": "x"}</function>', ["search"]),
        ("I would rather talk about the weather.", []),
        ("", []),
    ],
)
async def test_what_groq_cannot_read_is_a_turn_of_the_model(generation: str, names: list[str]) -> None:
    refusal = error(400, message="Failed to call a function.", code="tool_use_failed", failed_generation=generation)
    async with FaultyServer(script=lambda number, body: refusal) as server:
        answer = await client(server.url).complete(WITH_TOOLS)
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
async def test_what_gemini_cannot_read_is_a_turn_without_a_call(choice: dict[str, Any]) -> None:
    async with FaultyServer(script=lambda number, body: {"choices": [choice]}) as server:
        answer = await client(server.url).complete(WITH_TOOLS)
    assert (answer.finish, answer.message.tool_calls, len(server.asked)) == (Finish.STOP, (), 1)


async def test_an_error_within_a_200_is_read_as_its_status() -> None:
    def answer(number: int, body: dict[str, Any]) -> dict[str, Any]:
        if number == 0:
            return {"error": {"message": "slow down", "code": 429}}
        if "seed" in body:
            return {
                "choices": [{"error": {"code": 400, "message": "Unknown parameter: seed"}, "finish_reason": "error"}]
            }
        return GOOD

    async with FaultyServer(script=answer) as server:
        model = client(server.url)
        assert (await model.complete(WITH_TOOLS)).message.content == "yes"
    assert len(server.asked) == 3
    assert model.pool.members[0].limiter.cuts == 1
