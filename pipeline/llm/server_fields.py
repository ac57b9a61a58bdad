"""The fields of an answer that we do not know: kept as JSON text, and sent back in the history.

Gemini 3 refuses a call without its `extra_content`, and Claude behind a gateway one without `thinking_blocks`. Kimi
reads meaning from the ids of calls, and LiteLLM stores a signature in them.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from pipeline.types import Message

LONGEST = 200_000
"""Characters of one message's or call's fields; longer ones are not kept."""
_OF_MESSAGE = frozenset({
    "role", "content", "tool_calls", "function_call", "reasoning", "reasoning_content", "refusal", "annotations",
    "audio", "images", "name", "tool_call_id", "token_ids", "logprobs", "prefix",
})  # fmt: skip
_OF_CALL = frozenset({"id", "index", "type", "function"})
_OF_FUNCTION = frozenset({"name", "arguments"})
_ID = re.compile(r"(?!call\d{5}$)[!-~]+")
"""An id that can be sent back; ours have the form that is left out."""


def message_fields(answer: Mapping[str, Any]) -> str:
    """Return the unknown fields of a message, and its content if that holds more than texts (Mistral's thoughts)."""
    fields = _unknown(answer, _OF_MESSAGE)
    if has_thoughts(content := answer.get("content")):
        fields["content"] = content
    return _dumped(fields)


def call_fields(call: Mapping[str, Any]) -> str:
    """Return the unknown fields of a call, and its id."""
    fields = _unknown(call, _OF_CALL)
    if isinstance(call.get("function"), dict) and (of_function := _unknown(call["function"], _OF_FUNCTION)):
        fields["function"] = of_function
    if isinstance(call_id := call.get("id"), str) and _ID.fullmatch(call_id):
        fields["id"] = call_id
    return _dumped(fields)


def load_fields(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = orjson.loads(text) if text else {}
    return fields


def server_ids(messages: Iterable[Message]) -> dict[str, str]:
    """Map our ids of calls to those of the server, without ids that the server gave to an earlier call too."""
    ids: dict[str, str] = {}
    for call in (call for message in messages for call in message.tool_calls):
        call_id = load_fields(call.server_fields).get("id")
        if call_id and call_id not in ids.values():
            ids[call.id] = call_id
    return ids


def has_thoughts(content: Any) -> bool:
    """Is the content a list with a part that holds thoughts?"""
    return isinstance(content, list) and any(isinstance(part, dict) and is_thought(part) for part in content)


def is_thought(part: Mapping[str, Any]) -> bool:
    return "thinking" in part or part.get("type") in ("thinking", "reasoning", "redacted_thinking")


def _unknown(tree: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in known and value not in (None, "", [], {})}


def _dumped(fields: Mapping[str, Any]) -> str:
    try:
        text = orjson.dumps(fields).decode() if fields else ""
    except orjson.JSONEncodeError:  # Lone surrogates, or numbers that no server should send.
        return ""
    return text if len(text) <= LONGEST else ""
