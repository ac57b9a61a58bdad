"""If the prompt describes the tools, the rows of conversations are the messages on the wire."""

from typing import Any

import orjson
import pytest

from pipeline.agents.environment_file import Environment, environment
from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.config import build
from pipeline.config.models import ToolMode
from pipeline.exports.views import adp, dpo, kto, sft, sft_masked, sft_sharegpt
from pipeline.exports.views.base import split_conversation
from pipeline.llm import reply
from pipeline.llm.base import Request
from pipeline.llm.chat_body import body
from pipeline.types import Message, ToolCall
from tests.exports.rollouts import make_uniform_record

MODES: tuple[ToolMode, ...] = ("schema", "text")


def make_environment(mode: ToolMode) -> Environment:
    model = {"provider": "openai", "model": "m", "tools": mode}
    return environment(build(values={"models": {"default": model}}))


def wire(messages: tuple[Message, ...], mode: ToolMode) -> list[dict[str, Any]]:
    """Return the messages of the request for the next turn."""
    messages_sent: list[dict[str, Any]] = body(
        Request(model="m", messages=messages, tools=SOLVER_TOOLS, calls=mode), run_seed=0
    )["messages"]
    return messages_sent


@pytest.mark.parametrize("mode", MODES)
def test_a_trajectory_is_the_requests_and_answers_of_its_turns(mode: ToolMode) -> None:
    pair, environment_ = make_uniform_record("right"), make_environment(mode)
    (row,) = sft.rows(pair, environment_)
    messages = [orjson.loads(text) for text in row["messages"]]
    assert row["tools"] == "[]"
    assert {message["role"] for message in messages} == {"system", "user", "assistant"}
    assert row["loss"] == [message["role"] == "assistant" for message in messages]
    sources = [pair.rounds[-1].rollouts[0].trajectory.messages]
    source = next(s for s in sources if len(s) == len(messages))
    # The system prompt is the environment's, which differs from the record's.
    source = (Message(role="system", content=environment_.system), *source[1:])
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            assert wire(source[:index], mode) == messages[:index]
            answer = {"choices": [{"message": {"content": message["content"]}, "finish_reason": "stop"}]}
            answer_read = reply.completion(orjson.dumps(answer), SOLVER_TOOLS, calls=mode).message
            calls = [(call.name, orjson.loads(call.arguments)) for call in source[index].tool_calls]
            assert [(call.name, orjson.loads(call.arguments)) for call in answer_read.tool_calls] == calls


@pytest.mark.parametrize("mode", MODES)
def test_no_view_of_messages_holds_a_call_of_the_server(mode: ToolMode) -> None:
    pair, environment_ = make_uniform_record("right", "wrong"), make_environment(mode)
    rows = [row for view in (sft, sft_masked, dpo, kto) for row in view.rows(pair, environment_)]
    assert len(rows) > 3
    for row in rows:
        texts = [
            text for name in ("messages", "prompt", "completion", "chosen", "rejected") for text in row.get(name, ())
        ]
        messages = [orjson.loads(text) for text in texts]
        assert messages
        assert row["tools"] == "[]"
        assert not any("tool_calls" in message or message["role"] == "tool" for message in messages)
        opening = next(message["content"] for message in messages if message["role"] == "system")
        assert '{"name": "answer", "arguments": {"answer":"..."}}' in opening or mode == "text"


@pytest.mark.parametrize("mode", MODES)
def test_in_sharegpt_it_is_a_dialogue_of_two(mode: ToolMode) -> None:
    (row,) = sft_sharegpt.rows(make_uniform_record("right"), make_environment(mode))
    turns = [turn["from"] for turn in row["conversations"]]
    assert turns == ["human", "gpt"] * (len(turns) // 2)
    assert (row["tools"], row["system"]) == ("[]", make_environment(mode).prompt)
    assert row["system"] != make_environment(mode).system


@pytest.mark.parametrize("mode", MODES)
def test_the_agent_data_protocol_has_the_calls_as_calls(mode: ToolMode) -> None:
    pair = make_uniform_record("right")
    assert list(adp.rows(pair, make_environment(mode))) == list(adp.rows(pair, environment(build())))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("thinking", ["all", "none"])
def test_the_results_of_one_turn_are_one_message_without_loss(mode: ToolMode, thinking: str) -> None:

    calls = tuple(ToolCall(id=f"c{n}", name="search", arguments='{"query":"x"}') for n in range(2))
    results = tuple(Message(role="tool", content=str(n), tool_call_id=call.id) for n, call in enumerate(calls))
    turn = Message(role="assistant", reasoning="I look.", tool_calls=calls)
    messages = (Message(role="system", content="S"), Message(role="user", content="Q"), turn, *results, turn)
    environment_ = make_environment(mode)
    environment_ = environment_.model_copy(update={"sft": environment_.sft.model_copy(update={"thinking": thinking})})
    rows = split_conversation(messages, environment_, "solver")
    assert len(rows) == (2 if thinking == "all" else 1)
    row, loss = rows[-1]
    assert [message.role for message in row] == ["system", "user", "assistant", "user", "assistant"]
    assert loss == [False, False, thinking == "none", False, True]
    assert row[3].content.count("<tool_response>") == 2
