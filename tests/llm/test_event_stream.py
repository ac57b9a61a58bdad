"""Streams of real servers are joined into the one answer that they are the pieces of."""

from typing import Any

import orjson
import pytest

from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.llm.base import Finish, Request
from pipeline.llm.event_stream import is_stream, join_stream
from pipeline.llm.reply import ErrorAnswer, completion
from pipeline.llm.retry import CallFailure
from pipeline.types import Message
from tests.chaos.faulty_server import FaultyServer, Reply
from tests.llm.wire import GOOD, make_client, make_error


def make_stream(*deltas: dict[str, Any], end: str = "stop", done: bool = True) -> bytes:
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": end or None}]})
    events.append({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
    text = "".join(f"data: {orjson.dumps(event).decode()}\n\n" for event in events)
    return (text + "data: [DONE]\n\n" * done).encode()


def make_piece(**fields: Any) -> dict[str, Any]:
    return {"tool_calls": [fields]}


PIECES = {
    "openai": [
        make_piece(index=0, id="a", type="function", function={"name": "search", "arguments": ""}),
        make_piece(index=0, function={"arguments": '{"query"'}),
        make_piece(index=0, function={"arguments": ':"x"}'}),
        make_piece(index=1, id="b", type="function", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
    "id and name in each piece": [
        make_piece(index=0, id="a", function={"name": "search", "arguments": '{"query"'}),
        make_piece(index=0, id="a", function={"name": "search", "arguments": ':"x"}'}),
        make_piece(index=1, id="b", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
    "name is null later": [
        make_piece(index=0, id="a", function={"name": "search", "arguments": '{"query"'}),
        make_piece(index=0, id=None, function={"name": None, "arguments": ':"x"}'}),
        make_piece(index=1, id="b", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
    "one index for all": [
        make_piece(index=0, id="a", function={"name": "search", "arguments": '{"query":"x"}'}),
        make_piece(index=0, id="b", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
    "no index": [
        make_piece(id="a", function={"name": "search", "arguments": '{"query":"x"}'}),
        make_piece(id="b", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_calls_are_joined_from_many_kinds_of_pieces(pieces: list[dict[str, Any]]) -> None:
    answer = completion(make_stream(*pieces, end="tool_calls"), SOLVER_TOOLS)
    calls = [(call.name, call.arguments) for call in answer.message.tool_calls]
    assert calls == [("search", '{"query":"x"}'), ("open", '{"passage_id":"p"}')]
    assert [orjson.loads(call.server_fields)["id"] for call in answer.message.tool_calls] == ["a", "b"]
    assert (answer.finish, answer.usage.prompt_tokens) == (Finish.TOOL_CALLS, 7)


def test_text_reasoning_and_unknown_fields_are_joined() -> None:
    extra = {"google": {"thought_signature": "s"}}
    call = {"index": 0, "id": "a", "function": {"name": "search", "arguments": "{}"}, "extra_content": extra}
    details = [{"reasoning_details": [{"type": "reasoning.text", "text": text}]} for text in ("I ", "look.")]
    answer = completion(
        make_stream(
            {"reasoning_content": "I "},
            {"reasoning_content": "look."},
            *details,
            {"content": "Now"},
            make_piece(**call),
        ),
        SOLVER_TOOLS,
    )
    message = answer.message
    assert (message.content, message.reasoning) == ("Now", "I look.")
    assert len(orjson.loads(message.server_fields)["reasoning_details"]) == 2
    assert orjson.loads(message.tool_calls[0].server_fields)["extra_content"] == extra


@pytest.mark.parametrize(
    ("raw", "is_one"),
    [
        (b"data: {}\n\n", True),
        (b": keep-alive\n\n: more\n\nevent: message\ndata: {}\n\n", True),
        (b"\r\nid: 1\ndata: {}\n\n", True),
        (b'{"data": 1}', False),
        (b"", False),
        (b": " * 100_000, False),
    ],
)
def test_a_stream_is_recognised_by_its_first_line(raw: bytes, is_one: bool) -> None:
    assert is_stream(raw) is is_one


def test_a_complete_answer_within_a_stream_is_taken_unchanged() -> None:
    assert join_stream(b"data: " + orjson.dumps(GOOD) + b"\n\n") == GOOD


def test_a_stream_that_is_cut_off_or_contains_an_error_is_no_answer() -> None:
    with pytest.raises(CallFailure, match="cut off"):
        completion(make_stream({"content": "Hal"}, end="", done=False))
    with pytest.raises(CallFailure, match="no message"):
        completion(b"data: {}\n\ndata: [DONE]\n\n")
    with pytest.raises(ErrorAnswer, match="slow down") as caught:
        completion(b'data: {"error": {"message": "slow down", "code": 429}}\n\n')
    assert caught.value.body.status == 429


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(400, b'{"detail": "Stream must be set to true"}'),
        make_error(400, message="parameter.enable_thinking must be set to false for non-streaming calls"),
        make_error(400, message="This model only support stream mode, please enable the stream parameter"),
        make_error(400, message="enable thinking can not be support when `stream=False`."),
        make_error(400, message="bad value", param="stream"),
    ],
)
async def test_a_server_that_only_streams_is_asked_to_stream(refusal: Reply) -> None:
    def answer(number: int, body: dict[str, Any]) -> Reply:
        if "stream_options" in body:
            return make_error(400, message="Unknown parameter: stream_options", param="stream_options")
        return Reply(body=make_stream({"content": "yes"})) if body.get("stream") else refusal

    async with FaultyServer(script=answer) as server:
        model = make_client(server.url)
        request = Request(model="m", messages=(Message(role="user", content="Who?"),))
        contents = [(await model.complete(request)).message.content for _ in range(2)]
    assert contents == ["yes", "yes"]
    assert len(server.asked) == 4
