"""Requests are strict and append-only, and leave out or describe in text what a server refuses."""

from typing import Any

import orjson
import pytest

from pipeline.agents.judge import VERDICT
from pipeline.agents.readers import CitedOutput
from pipeline.agents.structured import schema
from pipeline.agents.tools import GENERATOR_TOOLS, SOLVER_TOOLS
from pipeline.config.models import Sampling, ToolMode
from pipeline.llm.base import Request
from pipeline.llm.chat_body import body, make_strict, wire_seed
from pipeline.llm.concessions import BY_NAME
from pipeline.llm.schemas import inline_refs
from pipeline.types import Message, ToolCall

ASKED = (Message(role="system", content="Be good."), Message(role="user", content="Who?"))
CALL = ToolCall(id="call00000", name="search", arguments='{"query":"a"}')
TURN = (
    Message(role="assistant", reasoning="hm", tool_calls=(CALL,)),
    Message(role="tool", content="Doc 1", tool_call_id="call00000", name="search"),
)  # fmt: skip
REQUEST = Request(model="m", messages=ASKED + TURN, tools=SOLVER_TOOLS)


def test_a_request_has_these_fields() -> None:
    tree = body(REQUEST, 0)
    assert list(tree) == [
        "model", "messages", "temperature", "top_p", "max_completion_tokens", "seed", "tools", "tool_choice",
    ]  # fmt: skip
    assert tree["tool_choice"] == "auto"
    assert [m["role"] for m in tree["messages"]] == ["system", "user", "assistant", "tool"]
    function = {"name": "search", "arguments": '{"query":"a"}'}
    assert tree["messages"][2] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call00000", "type": "function", "function": function}],
    }
    assert "hm" not in str(tree)
    assert tree["messages"][3]["tool_call_id"] == "call00000"


def test_reasoning_is_sent_back_under_both_names_if_requested() -> None:
    tree = body(REQUEST.model_copy(update={"thoughts": True}), 0)
    assert (tree["messages"][2]["reasoning_content"], tree["messages"][2]["reasoning"]) == ("hm", "hm")
    assert not any("reasoning" in str(message) for message in (*tree["messages"][:2], tree["messages"][3]))
    as_text = body(REQUEST.model_copy(update={"thoughts": True, "calls": "text"}), 0)
    assert as_text["messages"][2]["reasoning_content"] == "hm"


def test_optional_sampling_is_sent_only_if_it_is_set() -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": True}}
    tree = body(REQUEST.model_copy(update={"sampling": Sampling(top_k=20, min_p=0.05, seed=7, extra_body=extra)}), 0)
    assert (tree["top_k"], tree["min_p"], tree["chat_template_kwargs"]) == (20, 0.05, {"enable_thinking": True})
    assert tree["seed"] == wire_seed(7, 0) != body(REQUEST, 0)["seed"]
    assert tree["messages"] == body(REQUEST, 0)["messages"]


def test_tools_are_strict_and_allow_no_other_properties_except_one_free_tool() -> None:
    def assert_closed(schema: Any) -> None:
        if isinstance(schema, dict):
            if "properties" in schema:
                assert schema["additionalProperties"] is False
                assert schema["required"] == list(schema["properties"])
            assert not {"default", "maxLength", "pattern"} & set(schema) - set(schema.get("properties", ()))
            for value in schema.values():
                assert_closed(value)
        elif isinstance(schema, list):
            for item in schema:
                assert_closed(item)

    for tool in body(REQUEST.model_copy(update={"tools": GENERATOR_TOOLS}), 0)["tools"]:
        assert tool["function"].get("strict", False) is (tool["function"]["name"] != "check")
        assert_closed(tool["function"]["parameters"])


@pytest.mark.parametrize(
    ("calls", "without"), [("native", ()), ("text", ()), ("native", ("response_format",)), ("native", ("strict",))]
)
def test_schemas_are_sent_without_references(calls: ToolMode, without: tuple[str, ...]) -> None:
    """Some servers drop `$defs`, and the model has to guess what a hop is."""
    output = schema("cited", CitedOutput)
    assert "$ref" in str(GENERATOR_TOOLS[-1].parameters)
    assert "$ref" in str(output.body)
    request = REQUEST.model_copy(update={"tools": GENERATOR_TOOLS, "output": output, "calls": calls})
    encoded = str(body(request, 0, frozenset(without)))
    assert "$ref" not in encoded
    assert "$defs" not in encoded
    assert encoded.count("sub_question") >= 2
    assert "Found steps: the id of the passage that states the answer." in encoded


def test_a_recursive_schema_is_cut() -> None:
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Node"}, "$ref": {"type": "string"}}}
    assert inline_refs({"$ref": "#/$defs/Node", "$defs": {"Node": node}}) == {
        "type": "object",
        "properties": {"child": {}, "$ref": {"type": "string"}},
    }


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    title = {"type": "string", "title": "Title", "default": "", "description": "d"}
    schema = {"type": "object", "properties": {"title": title}}
    assert make_strict(schema)["properties"] == {"title": {"type": "string", "description": "d"}}


@pytest.mark.parametrize("choice", ["auto", "required", "none"])
def test_plain_choices_are_sent_unchanged(choice: str) -> None:
    assert body(REQUEST.model_copy(update={"tool_choice": choice}), 0)["tool_choice"] == choice


def test_a_named_choice_names_the_function() -> None:
    tree = body(REQUEST.model_copy(update={"tool_choice": "answer"}), 0)
    assert tree["tool_choice"] == {"type": "function", "function": {"name": "answer"}}


@pytest.mark.parametrize(("choice", "several", "sent"), [
    ("auto", True, None), ("auto", False, False), ("required", True, False), ("answer", True, False),
    ("none", True, None),
])  # fmt: skip
def test_parallel_calls_are_forbidden_only_if_one_call_is_planned(choice: str, several: bool, sent: Any) -> None:
    request = REQUEST.model_copy(update={"tool_choice": choice, "parallel_calls": several})
    assert body(request, 0).get("parallel_tool_calls") is sent


def test_the_seed_depends_only_on_run_and_sample() -> None:
    other_request = REQUEST.model_copy(update={"messages": ASKED, "tool_choice": "answer"})
    assert body(REQUEST, 3)["seed"] == body(other_request, 3)["seed"] == wire_seed(3, 0)
    seeds = {wire_seed(run, sample) for run in range(20) for sample in range(20)}
    assert len(seeds) == 400
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_structured_output_is_strict_json_schema() -> None:
    form = body(Request(model="m", messages=ASKED, output=VERDICT), 0)["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["name"] == "verdict"
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"]["required"] == ["reason", "correct", "sure"]


def test_if_structured_output_is_refused_the_schema_is_sent_as_text() -> None:
    tree = body(Request(model="m", messages=ASKED, output=VERDICT), 0, frozenset({"response_format"}))
    assert "response_format" not in tree
    assert tree["messages"][0]["content"] == "Be good."
    assert tree["messages"][1]["content"].startswith("Who?\n\nAnswer with one JSON object")
    assert '"correct"' in tree["messages"][1]["content"]


@pytest.mark.parametrize("name", [name for name, concession in BY_NAME.items() if not concession.line])
def test_a_refused_field_is_left_out(name: str) -> None:
    sampling = Sampling(top_k=20, min_p=0.1)
    values = {"output": VERDICT, "parallel_calls": False, "sampling": sampling, "thoughts": True}
    request = REQUEST.model_copy(update=values)
    without = frozenset({"no_stream"} if name == "stream_options" else ())
    assert f'"{name}"' in orjson.dumps(body(request, 0, without)).decode()
    tree = body(request, 0, without | {name})
    assert f'"{name}"' not in orjson.dumps(tree).decode()
    assert ("max_tokens" in tree) == (name == "max_completion_tokens")


def test_tools_as_text_keep_the_prefix() -> None:
    request = REQUEST.model_copy(update={"calls": "text"})
    first = body(request.model_copy(update={"messages": ASKED}), 0)
    later = body(request, 0)
    assert "tools" not in later
    assert "tool_choice" not in later
    assert later["messages"][: len(first["messages"])] == first["messages"]
    assert "<tool_call>" in later["messages"][0]["content"]
    assert later["messages"][2]["content"] == '<tool_call>{"name": "search", "arguments": {"query":"a"}}</tool_call>'
    assert later["messages"][3] == {"role": "user", "content": "<tool_response>\nDoc 1\n</tool_response>"}
    forced = body(request.model_copy(update={"tool_choice": "answer"}), 0)
    assert forced["messages"][-1]["content"].endswith("Now call `answer`.")


@pytest.mark.parametrize("mode", ["native", "schema", "text"])
def test_a_turn_without_text_and_calls_is_left_out(mode: ToolMode) -> None:
    call = ToolCall(id="x", name="search", arguments='{"query":"a"}')
    turns = (
        Message(role="assistant", content="", reasoning="Hm."),
        Message(role="assistant", content=" \n"),
        Message(role="assistant", tool_calls=(call,)),
        Message(role="tool", content="", tool_call_id="x", name="search"),
    )
    request = REQUEST.model_copy(update={"messages": (*ASKED, *turns), "calls": mode, "thoughts": True})
    sent = body(request, 0)["messages"][len(ASKED) :]
    assert len(sent) == 2
    assert sent[0].get("tool_calls") or "search" in sent[0]["content"]


@pytest.mark.parametrize("arguments", ['{"query": "a', "574", "", "null"])
def test_unreadable_arguments_are_sent_back_inside_an_object(arguments: str) -> None:
    call = ToolCall(id="x", name="search", arguments=arguments)
    tree = body(Request(model="m", messages=(Message(role="assistant", tool_calls=(call,)),)), 0)
    sent = orjson.loads(tree["messages"][0]["tool_calls"][0]["function"]["arguments"])
    assert sent == {"unreadable": arguments}
