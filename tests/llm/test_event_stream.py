"""Streams of real servers, as the one answer that they are the pieces of."""

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
from tests.llm.test_openai import GOOD, client, error


def stream(*deltas: dict[str, Any], end: str = "stop", done: bool = True) -> bytes:
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": end or None}]})
    events.append({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}})
    text = "".join(f"data: {orjson.dumps(event).decode()}\n\n" for event in events)
    return (text + "data: [DONE]\n\n" * done).encode()


def piece(**fields: Any) -> dict[str, Any]:
    return {"tool_calls": [fields]}


PIECES = {
    "openai": [
        piece(index=0, id="a", type="function", function={"name": "search", "arguments": ""}),
        piece(index=0, function={"arguments": '{"query"'}),
        piece(index=0, function={"arguments": ':"x"}'}),
        piece(index=1, id="b", type="function", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
    "id and name in each piece": [
        piece(index=0, id="a", function={"name": "search", "arguments": '{"query"'}),
        piece(index=0, id="a", function={"name": "search", "arguments": ':"x"}'}),
        piece(index=1, id="b", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
    "name is null later": [
        piece(index=0, id="a", function={"name": "search", "arguments": '{"query"'}),
        piece(index=0, id=None, function={"name": None, "arguments": ':"x"}'}),
        piece(index=1, id="b", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
    "one index for all": [
        piece(index=0, id="a", function={"name": "search", "arguments": '{"query":"x"}'}),
        piece(index=0, id="b", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
    "no index": [
        piece(id="a", function={"name": "search", "arguments": '{"query":"x"}'}),
        piece(id="b", function={"name": "open", "arguments": '{"passage_id":"p"}'}),
    ],
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_calls_come_in_many_kinds_of_pieces(pieces: list[dict[str, Any]]) -> None:
    answer = completion(stream(*pieces, end="tool_calls"), SOLVER_TOOLS)
    calls = [(call.name, call.arguments) for call in answer.message.tool_calls]
    assert calls == [("search", '{"query":"x"}'), ("open", '{"passage_id":"p"}')]
    assert [orjson.loads(call.server_fields)["id"] for call in answer.message.tool_calls] == ["a", "b"]
    assert (answer.finish, answer.usage.prompt_tokens) == (Finish.TOOL_CALLS, 7)


def test_texts_thoughts_and_unknown_fields_grow() -> None:
    extra = {"google": {"thought_signature": "s"}}
    call = {"index": 0, "id": "a", "function": {"name": "search", "arguments": "{}"}, "extra_content": extra}
    details = [{"reasoning_details": [{"type": "reasoning.text", "text": text}]} for text in ("I ", "look.")]
    answer = completion(
        stream(
            {"reasoning_content": "I "}, {"reasoning_content": "look."}, *details, {"content": "Now"}, piece(**call)
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
def test_a_stream_is_known_by_its_first_line(raw: bytes, is_one: bool) -> None:
    assert is_stream(raw) is is_one


def test_a_whole_answer_within_a_stream_is_taken_as_it_is() -> None:
    assert join_stream(b"data: " + orjson.dumps(GOOD) + b"\n\n") == GOOD


def test_a_stream_that_was_cut_off_or_holds_an_error_is_no_answer() -> None:
    with pytest.raises(CallFailure, match="cut off"):
        completion(stream({"content": "Hal"}, end="", done=False))
    with pytest.raises(CallFailure, match="no message"):
        completion(b"data: {}\n\ndata: [DONE]\n\n")
    with pytest.raises(ErrorAnswer, match="slow down") as caught:
        completion(b'data: {"error": {"message": "slow down", "code": 429}}\n\n')
    assert caught.value.body.status == 429


@pytest.mark.parametrize(
    "refusal",
    [
        Reply(400, b'{"detail": "Stream must be set to true"}'),
        error(400, message="parameter.enable_thinking must be set to false for non-streaming calls"),
        error(400, message="This model only support stream mode, please enable the stream parameter"),
        error(400, message="enable thinking can not be support when `stream=False`."),
        error(400, message="bad value", param="stream"),
    ],
)
async def test_a_server_that_only_streams_is_asked_to(refusal: Reply) -> None:
    def answer(number: int, body: dict[str, Any]) -> Reply:
        if "stream_options" in body:
            return error(400, message="Unknown parameter: stream_options", param="stream_options")
        return Reply(body=stream({"content": "yes"})) if body.get("stream") else refusal

    async with FaultyServer(script=answer) as server:
        model = client(server.url)
        request = Request(model="m", messages=(Message(role="user", content="Who?"),))
        contents = [(await model.complete(request)).message.content for _ in range(2)]
    assert contents == ["yes", "yes"]
    assert len(server.asked) == 4
