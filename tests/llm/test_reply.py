"""Every answer of a real or broken server is a completion or a `CallFailure`."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.llm import reply
from pipeline.llm.base import Completion, Finish
from pipeline.llm.retry import CallFailure
from pipeline.types import Usage


def read_completion(message: Any, finish: Any = "stop", usage: Any = None) -> Completion:
    tree = {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
    return reply.completion(orjson.dumps(tree), SOLVER_TOOLS)


def make_call(arguments: Any, name: str = "search") -> dict[str, Any]:
    return {"tool_calls": [{"id": "x", "type": "function", "function": {"name": name, "arguments": arguments}}]}


@pytest.mark.parametrize(
    ("reason", "message", "finish"),
    [
        ("stop", {"content": "yes"}, Finish.STOP),
        ("tool_calls", make_call("{}"), Finish.TOOL_CALLS),
        ("function_call", make_call("{}"), Finish.TOOL_CALLS),
        ("stop", make_call("{}"), Finish.TOOL_CALLS),
        (None, make_call("{}"), Finish.TOOL_CALLS),
        (None, {"content": "yes"}, Finish.STOP),
        ("unheard_of", {"content": "yes"}, Finish.STOP),
        (7, {"content": "yes"}, Finish.STOP),
        ("tool_calls", {"content": ""}, Finish.STOP),
        ("length", {"content": "ye"}, Finish.LENGTH),
        ("length", make_call('{"query": "a'), Finish.LENGTH),
        ("content_filter", {"content": None}, Finish.CONTENT_FILTER),
        ("stop", {"content": None, "refusal": "I will not"}, Finish.CONTENT_FILTER),
        ("stop", {"content": "", "reasoning": "hm"}, Finish.EMPTY),
        ("stop", {"content": None, "reasoning_content": "hm"}, Finish.EMPTY),
    ],
)
def test_every_finish_maps_to_ours(reason: Any, message: dict[str, Any], finish: Finish) -> None:
    assert read_completion(message, reason).finish is finish


@pytest.mark.parametrize(
    ("message", "content", "reasoning"),
    [
        ({"content": "a", "reasoning": "b", "reasoning_content": "b"}, "a", "b"),
        ({"content": "a", "reasoning_content": "b"}, "a", "b"),
        ({"content": "<think>\nb\n</think>\n\na"}, "a", "b"),
        ({"content": "b\n</think>\na"}, "a", "b"),
        ({"content": "<think>b and then cut"}, "", "b and then cut"),
        ({"content": [{"type": "thinking", "thinking": "b"}, {"type": "text", "text": "a"}]}, "a", "b"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}, {"text": "a"}]}, "a", "b"),
        ({"content": [{"type": "reasoning", "text": "b"}, {"type": "text", "text": "a"}]}, "a", "b"),
        ({"content": "```python\nx\n```"}, "```python\nx\n```", ""),
        ({"content": 7, "reasoning": {}}, "", ""),
    ],
)
def test_reasoning_is_separated_from_content(message: dict[str, Any], content: str, reasoning: str) -> None:
    output = read_completion(message).message
    assert (output.content, output.reasoning) == (content, reasoning)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"query":"a"}', '{"query":"a"}'),
        ({"query": "é"}, '{"query": "é"}'),
        ('{"query": "a\nb\x01"}', '{"query": "a\\nb\\u0001"}'),
        ('{"query": "a', '{"query": "a'),
        ("574", "574"),
        (None, "null"),
    ],
)
def test_readable_arguments_become_valid_json(arguments: Any, text: str) -> None:
    (tool_call,) = read_completion(make_call(arguments)).message.tool_calls
    assert tool_call.arguments == text


def test_a_truncated_call_is_neither_a_call_nor_text() -> None:
    cut = read_completion({"content": 'Hm. <tool_call>{"name": "search", "argum'}, "length")
    assert (cut.message.content, cut.message.tool_calls, cut.finish) == ("Hm.", (), Finish.LENGTH)


def test_lone_surrogates_and_raw_control_characters_are_read() -> None:
    raw = b'{"choices": [{"message": {"content": "a\\ud800b\nc"}, "finish_reason": "stop"}]}'
    completion = reply.completion(raw)
    assert completion.message.content == "a\ufffdb\nc"
    assert Completion.model_validate_json(completion.model_dump_json()) == completion


@pytest.mark.parametrize(
    ("usage", "read_as"),
    [
        (None, Usage(calls=1)),
        ([], Usage(calls=1)),
        ({"prompt_tokens": 5, "completion_tokens": 2}, Usage(calls=1, prompt_tokens=5, completion_tokens=2)),
        ({"prompt_tokens": -5, "completion_tokens": "2"}, Usage(calls=1)),
        (
            {
                "prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9},
                "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 1},
            },
            Usage(calls=1, prompt_tokens=5, cached_tokens=5, completion_tokens=3, reasoning_tokens=1),
        ),
        ({"prompt_tokens": 5, "prompt_tokens_details": None}, Usage(calls=1, prompt_tokens=5)),
        ({"prompt_tokens": 1e300}, Usage(calls=1)),
    ],
)  # fmt: skip
def test_only_plausible_usage_is_counted(usage: Any, read_as: Usage) -> None:
    assert read_completion({"content": "a"}, usage=usage).usage == read_as


@pytest.mark.parametrize(
    "reported",
    [
        {"usage": {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 60}}},
        {"usage": {"prompt_tokens": 100, "prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40}},
        {"usage": {"prompt_tokens": 100, "cached_tokens": 60}},
        {"usage": {"prompt_tokens": 100, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10}},
        {
            "usage": {
                "prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 0}, "cache_read_input_tokens": 60,
            }
        },
        {"usage": {"input_tokens": 30, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10}},
        {"usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60}}},
        {"usage": {"prompt_tokens": 100}, "timings": {"cache_n": 60, "prompt_n": 40}},
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_cached_tokens_are_read_from_every_field_that_servers_use(reported: dict[str, Any], stream: bool) -> None:
    part = "delta" if stream else "message"
    tree = orjson.dumps({"choices": [{part: {"content": "a"}, "finish_reason": "stop"}], **reported})
    raw = b"data: " + tree + b"\n\ndata: [DONE]\n\n" if stream else tree
    usage = reply.completion(raw, shared_prefix=0.9).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.estimated_cached_tokens) == (100, 60, 0)
    assert usage.computed_tokens == 40


@pytest.mark.parametrize("details", [{}, {"prompt_tokens_details": None}, {"prompt_tokens_details": {}}])
def test_unreported_cached_tokens_are_estimated_and_marked(details: dict[str, Any]) -> None:
    tree = {"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": 101, **details}}
    usage = reply.completion(orjson.dumps(tree), shared_prefix=0.5).usage
    assert (usage.computed_tokens, usage.cached_tokens, usage.estimated_cached_tokens) == (51, 50, 50)
    tree["usage"] = {"prompt_tokens": 101, "prompt_tokens_details": {"cached_tokens": 0}}
    usage = reply.completion(orjson.dumps(tree), shared_prefix=0.5).usage
    assert (usage.cached_tokens, usage.estimated_cached_tokens) == (0, 0), "a reported 0 is a count"


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"null", b"[]", b"7", b'"x"', b"{}", b"<html></html>", b'{"choices": []}', b'{"choices": [null]}',
        b'{"choices": {"0": 1}}', b'{"choices": [{"message": null}]}', b'{"choices": [{"message": "hi"}]}',
        b'{"choices": [{"message": {"content": "a"}, "finish_reason": "abort"}]}', b'{"error": "down"}',
        b'{"choices": [{"message": {"content": "a', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000,
    ],
)  # fmt: skip
def test_an_answer_without_a_message_is_a_failure(raw: bytes) -> None:
    with pytest.raises(CallFailure):
        reply.completion(raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "choices message content tool_calls function name arguments finish_reason usage prompt_tokens id text "
                "reasoning prompt_tokens_details cached_tokens refusal".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=400)
@given(JSON, JSON, JSON)
def test_any_shape_is_a_completion_or_a_failure(message: Any, reason: Any, usage: Any) -> None:
    try:
        completion = read_completion(message, reason, usage)
    except CallFailure:
        return
    assert Completion.model_validate_json(completion.model_dump_json()) == completion
