"""A stream of server-sent events as the one answer that it is the pieces of.

Some servers only stream, and some stream though nobody asked. Servers repeat the id and name of a call in each piece or
give them once, and leave out the index of a call or not.
"""

from collections.abc import Iterator
from typing import Any

import orjson

_FIELDS = (b"data:", b"event:", b"id:", b"retry:")
_LOOKED_AT = 1 << 16
_END = "[DONE]"


def is_stream(raw: bytes) -> bool:
    """Is the first line an event's, apart from blank lines and comments?"""
    lines = (line.strip() for line in raw[:_LOOKED_AT].splitlines())
    return next((line.startswith(_FIELDS) for line in lines if line and not line.startswith(b":")), False)


def join_stream(raw: bytes) -> dict[str, Any] | None:
    """Return the answer as a server writes it that does not stream; None if the stream was cut off."""
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
            _add(message, {key: value for key, value in delta.items() if key not in ("role", "tool_calls")})
            _add_calls(calls, delta.get("tool_calls"))
    if calls:
        message["tool_calls"] = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    return answer if has_ended or choice["finish_reason"] else None


def _events(raw: bytes) -> Iterator[Any]:
    """Yield the data of each event. Other kinds of lines hold no part of the answer."""
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


def _add(whole: dict[str, Any], part: dict[str, Any]) -> None:
    """Add a piece: texts and lists grow, objects are merged, and anything else is replaced."""
    for key, value in part.items():
        before = whole.get(key)
        if value is None:
            continue
        if isinstance(before, str) and isinstance(value, str):
            whole[key] = before + value
        elif isinstance(before, list) and isinstance(value, list):
            whole[key] = before + value
        elif isinstance(before, dict) and isinstance(value, dict):
            _add(before, value)
        else:
            whole[key] = value


def _add_calls(calls: list[dict[str, Any]], pieces: Any) -> None:
    for piece in pieces if isinstance(pieces, list) else []:
        if not isinstance(piece, dict):
            continue
        call = _begun(calls, piece)
        function = piece.get("function")
        if isinstance(function, dict) and (before := call.get("function")):
            # A name comes whole, once or in every piece.
            function = {key: value for key, value in function.items() if key != "name" or not before.get("name")}
        known = ("id", "type", "index", "function")
        _add(call, {key: value for key, value in piece.items() if key not in known})
        call |= {key: piece[key] for key in ("id", "type", "index") if piece.get(key) is not None and key not in call}
        if isinstance(function, dict):
            _add(call.setdefault("function", {}), function)


def _begun(calls: list[dict[str, Any]], piece: dict[str, Any]) -> dict[str, Any]:
    """Return the call that a piece continues: the one of its index, or else the last one, unless it has another id."""
    call: dict[str, Any]
    for call in reversed(calls):
        has_same_id = not call.get("id") or piece.get("id") in (None, "", call.get("id"))
        if has_same_id and piece.get("index") in (None, call.get("index")):
            return call
        if piece.get("index") is None:
            break
    begun: dict[str, Any] = {}
    calls.append(begun)
    return begun
