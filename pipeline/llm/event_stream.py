"""Assembly of a stream of server-sent events into one answer.

Some servers only stream, and some stream without being asked to. Servers send the id and name of a call in every piece
or once, and may leave out the index of a call.
"""

from collections.abc import Iterator
from typing import Any

import orjson

_FIELDS = (b"data:", b"event:", b"id:", b"retry:")
_HEAD_BYTES = 1 << 16
_END = "[DONE]"


def is_stream(raw: bytes) -> bool:
    """Return whether the first line, apart from blank lines and comments, belongs to an event."""
    lines = (line.strip() for line in raw[:_HEAD_BYTES].splitlines())
    return next((line.startswith(_FIELDS) for line in lines if line and not line.startswith(b":")), False)


def join_stream(raw: bytes) -> dict[str, Any] | None:
    """Join a stream into the answer that a server without streaming would send, or return None if it was cut off."""
    message: dict[str, Any] = {"role": "assistant"}
    choice: dict[str, Any] = {"message": message, "finish_reason": None}
    answer: dict[str, Any] = {"choices": []}
    calls: list[dict[str, Any]] = []
    has_ended = False
    for event in _events(raw):
        if event == _END:
            has_ended = True
            continue
        if not isinstance(event, dict):
            continue
        if event.get("error") or event.get("object") == "error":
            return event
        if event.get("usage"):
            answer["usage"] = event["usage"]
        if event.get("timings"):
            answer["timings"] = event["timings"]
        choices = event.get("choices")
        part = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        if isinstance(part.get("message"), dict):
            return event
        if part:
            answer["choices"] = [choice]
        if part.get("error"):
            choice["error"] = part["error"]
        choice["finish_reason"] = part.get("finish_reason") or choice["finish_reason"]
        if isinstance(delta := part.get("delta"), dict):
            _merge(message, {key: value for key, value in delta.items() if key not in ("role", "tool_calls")})
            _add_calls(calls, delta.get("tool_calls"))
    if calls:
        message["tool_calls"] = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    return answer if has_ended or choice["finish_reason"] else None


def _events(raw: bytes) -> Iterator[Any]:
    for line in raw.splitlines():
        if not line.startswith(b"data:"):
            continue
        data = line.removeprefix(b"data:").strip()
        if data == _END.encode():
            yield _END
            continue
        try:
            yield orjson.loads(data)
        except orjson.JSONDecodeError:
            continue


def _merge(tree: dict[str, Any], piece: dict[str, Any]) -> None:
    for key, value in piece.items():
        old = tree.get(key)
        if value is None:
            continue
        if isinstance(old, str) and isinstance(value, str):
            tree[key] = old + value
        elif isinstance(old, list) and isinstance(value, list):
            tree[key] = old + value
        elif isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        else:
            tree[key] = value


def _add_calls(calls: list[dict[str, Any]], pieces: Any) -> None:
    for piece in pieces if isinstance(pieces, list) else []:
        if not isinstance(piece, dict):
            continue
        call = _find_or_start_call(calls, piece)
        function = piece.get("function")
        if isinstance(function, dict) and (old := call.get("function")):
            # A name is never split: it comes once or in every piece.
            function = {key: value for key, value in function.items() if key != "name" or not old.get("name")}
        _merge(call, {key: value for key, value in piece.items() if key not in ("id", "type", "index", "function")})
        call |= {key: piece[key] for key in ("id", "type", "index") if piece.get(key) is not None and key not in call}
        if isinstance(function, dict):
            _merge(call.setdefault("function", {}), function)


def _find_or_start_call(calls: list[dict[str, Any]], piece: dict[str, Any]) -> dict[str, Any]:
    """Return the call that a piece continues: the call with its index, or else the last, unless its id differs."""
    call: dict[str, Any]
    for call in reversed(calls):
        has_same_id = not call.get("id") or piece.get("id") in (None, "", call.get("id"))
        if has_same_id and piece.get("index") in (None, call.get("index")):
            return call
        if piece.get("index") is None:
            break
    calls.append({})
    return calls[-1]
