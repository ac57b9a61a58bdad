"""Conversations as trainers take them: every message and tool one JSON object, and about how many tokens that is.

Arrow pads a struct with the keys of all rows, so a message would carry `tool_calls: null` and a search `passage_id:
null`, and chat templates print both. Here a message is JSON text of the type `arrow.json`: `datasets` (4.7 and later)
gives the very object, DuckDB its JSON, pandas and polars the text; earlier `datasets` and polars 1.20 fail on it,
and `export --plain` writes plain text for them. Arguments are objects, since the templates of Qwen3.5, GLM and others
fail on text.
"""

from collections.abc import Iterable
from typing import Any

import orjson
import pyarrow as pa

from pipeline.llm.base import Tool
from pipeline.types import Message, ToolCall

JSON = pa.json_()
MESSAGES = pa.list_(JSON)


def dumped(messages: Iterable[Message]) -> list[str] | None:
    """OpenAI's messages, one JSON text each; none where arguments are no JSON object or text is no Unicode."""
    try:
        return [orjson.dumps(_message(message)).decode() for message in messages]
    except (ValueError, orjson.JSONEncodeError):
        return None


def nemo_gym(prefix: Iterable[Message], action: Message, offered: tuple[Tool, ...]) -> str:
    """A row of NeMo Gym's single-turn training: the state as items of OpenAI's Responses, and the action expected."""
    calls = [{"type": "function_call", "name": call.name, "arguments": call.arguments} for call in action.tool_calls]
    functions = [{"type": "function", "strict": False, **tool.model_dump()} for tool in offered]
    asked = {
        "input": [item for message in prefix for item in _items(message)],
        "tools": functions,
        "parallel_tool_calls": len(calls) > 1,
        "tool_choice": "auto",
    }
    expected = calls[0] if len(calls) == 1 else {"type": "function_call_batch", "calls": calls}
    return orjson.dumps({"responses_create_params": asked, "expected_action": expected}).decode()


def tokens(texts: Iterable[str]) -> int:
    """About how many tokens: a third of the bytes of UTF-8, which is more than most tokenizers make of prose and JSON.

    It is there to sort and to warn; a trainer's limit is checked with its own tokenizer.
    """
    return -(-len("".join(texts).encode()) // 3)


def spelt(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the messages with the arguments of calls in one spelling: they are equal if they are dumped alike."""
    return tuple(
        message.model_copy(update={"tool_calls": tuple(map(_spelt, message.tool_calls)), "server_fields": ""})
        if message.tool_calls or message.server_fields
        else message
        for message in messages
    )


def arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments as an object. Raises ValueError where they are none."""
    found = orjson.loads(call.arguments)
    if isinstance(found, dict):
        return found
    raise ValueError(f"the arguments of {call.name} are no JSON object")


def _spelt(call: ToolCall) -> ToolCall:
    try:
        return ToolCall(id=call.id, name=call.name, arguments=orjson.dumps(arguments(call)).decode())
    except (ValueError, orjson.JSONEncodeError):
        return call.model_copy(update={"server_fields": ""})


def _message(message: Message) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments(call)}}
        for call in message.tool_calls
    ]
    more = {"reasoning_content": message.reasoning, "tool_calls": calls, "tool_call_id": message.tool_call_id}
    named = {name: value for name, value in (more | {"name": message.name}).items() if value}
    return {"role": message.role, "content": message.content, **named}


def _items(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}]
    said: list[dict[str, Any]] = []
    if message.reasoning:
        said.append({"type": "reasoning", "summary": [{"type": "summary_text", "text": message.reasoning}]})
    if message.content or not message.tool_calls:
        said.append({"role": message.role, "content": message.content})
    return said + [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
