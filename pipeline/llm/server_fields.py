"""Unknown fields of an answer, which are stored as JSON text and sent back in the history.

Gemini 3 refuses a call without its `extra_content`, and Claude behind a gateway one without `thinking_blocks`. Kimi
interprets the ids of calls, and LiteLLM stores a signature in them.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from pipeline.types import Message

LONGEST = 200_000
"""Most characters of the fields of one message or call; longer ones are dropped."""
_MESSAGE_FIELDS = frozenset({
    "role", "content", "tool_calls", "function_call", "reasoning", "reasoning_content", "refusal", "annotations",
    "audio", "images", "name", "tool_call_id", "token_ids", "logprobs", "prefix",
})  # fmt: skip
_CALL_FIELDS = frozenset({"id", "index", "type", "function"})
_FUNCTION_FIELDS = frozenset({"name", "arguments"})
_ID = re.compile(r"(?!call\d{5}$)[!-~]+")
"""An id that can be sent back. The excluded form is that of our own ids."""


def message_fields(answer: Mapping[str, Any]) -> str:
    """Return the unknown fields of a message, and its content if that is not only text (Mistral's thoughts)."""
    fields = _unknown(answer, _MESSAGE_FIELDS)
    if has_thoughts(content := answer.get("content")):
        fields["content"] = content
    return _dump(fields)


def call_fields(call: Mapping[str, Any]) -> str:
    fields = _unknown(call, _CALL_FIELDS)
    if isinstance(call.get("function"), dict) and (function := _unknown(call["function"], _FUNCTION_FIELDS)):
        fields["function"] = function
    if isinstance(call_id := call.get("id"), str) and _ID.fullmatch(call_id):
        fields["id"] = call_id
    return _dump(fields)


def load_fields(text: str) -> dict[str, Any]:
    fields: dict[str, Any] = orjson.loads(text) if text else {}
    return fields


def server_ids(messages: Iterable[Message]) -> dict[str, str]:
    """Map our ids of calls to the server's, without ids that the server used for an earlier call too."""
    ids: dict[str, str] = {}
    for call in (call for message in messages for call in message.tool_calls):
        call_id = load_fields(call.server_fields).get("id")
        if call_id and call_id not in ids.values():
            ids[call.id] = call_id
    return ids


def has_thoughts(content: Any) -> bool:
    return isinstance(content, list) and any(isinstance(part, dict) and is_thought(part) for part in content)


def is_thought(part: Mapping[str, Any]) -> bool:
    return "thinking" in part or part.get("type") in ("thinking", "reasoning", "redacted_thinking")


def _unknown(tree: Mapping[str, Any], known_keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in known_keys and value not in (None, "", [], {})}


def _dump(fields: Mapping[str, Any]) -> str:
    try:
        text = orjson.dumps(fields).decode() if fields else ""
    except orjson.JSONEncodeError:  # Lone surrogates, or numbers that no server should send.
        return ""
    return text if len(text) <= LONGEST else ""
