"""Conversations as trainers read them: each message and each tool is one JSON object. Also estimates tokens.

Arrow pads a struct with the keys of all rows, so a message would get `tool_calls: null` and a search `passage_id:
null`, and chat templates print both. Therefore a message is JSON text of the type `arrow.json`: `datasets` (4.7 and
later) returns the object itself, DuckDB its JSON, pandas and polars the text. Earlier `datasets` and polars 1.20 fail
on it; `export --plain` writes plain text for them. Arguments of calls are objects, since the chat templates of
Qwen3.5, GLM and others fail on text.
"""

from collections.abc import Iterable
from typing import Any

import orjson
import pyarrow as pa

from pipeline.llm.base import Tool
from pipeline.types import Message, ToolCall

JSON = pa.json_()
MESSAGES = pa.list_(JSON)


def dump_messages(messages: Iterable[Message]) -> list[str] | None:
    """Return each message as JSON text in OpenAI's form.

    Return None if the arguments of a call are no JSON object, or if a text is no valid Unicode.
    """
    try:
        return [orjson.dumps(_message(message)).decode() for message in messages]
    except (ValueError, orjson.JSONEncodeError):
        return None


def nemo_gym(prefix: Iterable[Message], action: Message, offered: tuple[Tool, ...]) -> str:
    """Return a row of NeMo Gym's single-turn training: the state as items of OpenAI's Responses, and the action."""
    calls = [{"type": "function_call", "name": call.name, "arguments": call.arguments} for call in action.tool_calls]
    functions = [{"type": "function", "strict": False, **tool.model_dump()} for tool in offered]
    request = {
        "input": [item for message in prefix for item in _items(message)],
        "tools": functions,
        "parallel_tool_calls": len(calls) > 1,
        "tool_choice": "auto",
    }
    expected = calls[0] if len(calls) == 1 else {"type": "function_call_batch", "calls": calls}
    return orjson.dumps({"responses_create_params": request, "expected_action": expected}).decode()


def tokens(texts: Iterable[str]) -> int:
    """Estimate the number of tokens as a third of the UTF-8 bytes: more than most tokenizers need for prose and JSON.

    Use it to sort and to warn. Check a trainer's limit with its own tokenizer.
    """
    return -(-len("".join(texts).encode()) // 3)


def normalise_calls(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the messages with the arguments of calls in one spelling, so that messages of equal JSON are equal."""
    return tuple(
        message.model_copy(update={"tool_calls": tuple(map(_normalise_call, message.tool_calls)), "server_fields": ""})
        if message.tool_calls or message.server_fields
        else message
        for message in messages
    )


def arguments(call: ToolCall) -> dict[str, Any]:
    parsed = orjson.loads(call.arguments)
    if isinstance(parsed, dict):
        return parsed
    raise ValueError(f"the arguments of {call.name} are no JSON object")


def _normalise_call(call: ToolCall) -> ToolCall:
    try:
        return ToolCall(id=call.id, name=call.name, arguments=orjson.dumps(arguments(call)).decode())
    except (ValueError, orjson.JSONEncodeError):
        return call.model_copy(update={"server_fields": ""})


def _message(message: Message) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments(call)}}
        for call in message.tool_calls
    ]
    optional = {
        "reasoning_content": message.reasoning,
        "tool_calls": calls,
        "tool_call_id": message.tool_call_id,
        "name": message.name,
    }
    present = {name: value for name, value in optional.items() if value}
    return {"role": message.role, "content": message.content, **present}


def _items(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}]
    items: list[dict[str, Any]] = []
    if message.reasoning:
        items.append({"type": "reasoning", "summary": [{"type": "summary_text", "text": message.reasoning}]})
    if message.content or not message.tool_calls:
        items.append({"role": message.role, "content": message.content})
    return items + [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
