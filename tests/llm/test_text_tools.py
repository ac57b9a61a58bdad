"""Tools as text: the prompt in each mode, and the calls that are read from an answer."""

from typing import Any

import orjson
import pytest

from pipeline.agents.graph_proposals import WordedGraphArguments
from pipeline.agents.tools import GENERATOR_TOOLS, PROPOSE, SEARCH, SOLVER_TOOLS
from pipeline.config.models import ToolMode
from pipeline.llm import reply
from pipeline.llm.base import Request, Tool
from pipeline.llm.chat_body import body
from pipeline.llm.schemas import fits, inline_refs
from pipeline.llm.text_tools import call_schema, example, example_arguments
from pipeline.types import Message, ToolCall

CALL = ToolCall(id="call00000", name="search", arguments='{"query":"Selandor"}')
MESSAGES = (
    Message(role="system", content="You search."),
    Message(role="user", content="Who wrote Selandor?"),
    Message(role="assistant", tool_calls=(CALL,)),
    Message(role="tool", content="Doc 1 [p0123456789ab] Selandor\nA poem.", tool_call_id=CALL.id, name="search"),
)
PLAIN = '{"name": "search", "arguments": {"query":"Selandor"}}'


def make_body(mode: ToolMode, without: frozenset[str] = frozenset(), **fields: Any) -> dict[str, Any]:
    request = Request(model="m", messages=MESSAGES, tools=SOLVER_TOOLS, calls=mode, **fields)
    return body(request, 0, without)


def read_message(content: str, mode: ToolMode = "schema") -> Message:
    raw = orjson.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})
    return reply.completion(raw, SOLVER_TOOLS, calls=mode).message


def test_by_schema_a_turn_is_one_object_and_so_is_its_history() -> None:
    tree = make_body("schema")
    assert "tools" not in tree
    schema = tree["response_format"]["json_schema"]["schema"]
    assert [kind["properties"]["name"]["const"] for kind in schema["anyOf"]] == ["search", "open", "answer"]
    assert all(
        kind["required"] == ["name", "arguments"] and not kind["additionalProperties"] for kind in schema["anyOf"]
    )
    system, question, turn, result = tree["messages"]
    assert all(example(tool) in system["content"] for tool in SOLVER_TOOLS)
    assert question["content"] == "Who wrote Selandor?"
    assert turn == {"role": "assistant", "content": PLAIN}
    assert result["role"] == "user"
    assert "Selandor\nA poem." in result["content"]


def test_the_beginning_of_a_conversation_stays_the_same() -> None:
    for mode in ("schema", "text"):
        request = Request(model="m", messages=MESSAGES[:2], tools=SOLVER_TOOLS, calls=mode)
        assert make_body(mode)["messages"][:2] == body(request, 0)["messages"]


def test_a_forced_turn_allows_only_its_tool() -> None:
    tree = make_body("schema", tool_choice="answer")
    assert tree["response_format"]["json_schema"]["schema"]["properties"]["name"]["const"] == "answer"
    assert tree["messages"][-1]["content"].endswith("Now call `answer`.")
    assert "tool_choice" not in tree


def test_a_server_without_structured_output_is_asked_by_the_prompt_alone() -> None:
    tree = make_body("schema", without=frozenset({"response_format"}))
    assert "response_format" not in tree
    assert tree["messages"] == make_body("schema")["messages"]


def test_a_call_as_text_has_tags() -> None:
    tree = make_body("text")
    assert not tree.keys() & {"tools", "response_format"}
    assert tree["messages"][2]["content"] == f"<tool_call>{PLAIN}</tool_call>"


def test_the_object_is_the_call_and_needs_no_repair() -> None:
    message = read_message('{"name":"open","arguments":{"passage_id":"p0123456789ab"}}')
    assert message.content == ""
    assert message.tool_calls == (ToolCall(id="text0", name="open", arguments='{"passage_id":"p0123456789ab"}'),)


@pytest.mark.parametrize("content", [f"```json\n{PLAIN}\n```", f"I search.\n{PLAIN}", f"<tool_call>{PLAIN}"])
def test_a_call_from_a_server_that_ignores_the_schema_is_found_and_marked(content: str) -> None:
    (call,) = read_message(content).tool_calls
    assert (call.name, orjson.loads(call.arguments), call.repaired) == ("search", {"query": "Selandor"}, True)


def test_an_object_that_was_not_asked_for_is_marked() -> None:
    (call,) = read_message(PLAIN, "native").tool_calls
    assert call.repaired


@pytest.mark.parametrize(
    "content", ["The poet.", '{"query": "Selandor"}', '{"name": "fly", "arguments": {}}', "[]", ""]
)
def test_an_answer_without_a_call_stays_text(content: str) -> None:
    message = read_message(content)
    assert (message.content, message.tool_calls) == (content, ())


@pytest.mark.parametrize("tool", GENERATOR_TOOLS)
def test_an_example_of_a_call_fits_its_tool(tool: Tool) -> None:
    assert fits(orjson.loads(example_arguments(tool)), inline_refs(tool.parameters))
    assert fits(orjson.loads(example(tool)), call_schema([SEARCH, tool]).body)


def test_an_example_of_a_draft_can_be_read() -> None:
    arguments = WordedGraphArguments.model_validate_json(example_arguments(PROPOSE))
    assert len(arguments.steps) == 1
