"""The body of an error answer, as servers, gateways and routers write it.

`error` may be an object, a text or absent, or stand in a list of one (Gemini). Codes are texts (OpenAI) or numbers
(vLLM, llama.cpp). FastAPI's `detail` says by `loc` which field is wrong. OpenRouter keeps the provider's body in
`metadata.raw`. Some servers send an error with the status 200.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

_TAGS = re.compile(r"<[^<>]{0,200}>")
_STATUSES = {
    "rate_limit": 429,
    "resource_exhausted": 429,
    "insufficient_quota": 429,
    "overloaded": 503,
    "unavailable": 503,
    "authentication": 401,
    "unauthenticated": 401,
    "permission": 403,
    "not_found": 404,
    "invalid_request": 400,
    "invalid_argument": 400,
    "server_error": 500,
    "api_error": 500,
    "internal": 500,
}
"""Words in a code or type, and the status that a server means by them; the first that occurs counts."""
_DEEPEST = 4


class ErrorBody(NamedTuple):
    message: str
    code: str = ""
    """All codes and types, in one text."""
    param: str = ""
    """The path of the field that the server names as wrong, such as `messages.2.content`."""
    status: int | None = None
    """The status that the body states or means."""
    generation: str | None = None
    """What the model wrote, where the server could not read it as a call or as JSON (Groq)."""


def parse_error(raw: bytes) -> ErrorBody:
    try:
        tree = load_json(raw)
    except ValueError:
        return ErrorBody(_TAGS.sub(" ", raw.decode(errors="replace")))
    return describe_error(tree)


def describe_error(tree: Any) -> ErrorBody:
    errors = list(_errors(tree))
    messages = dict.fromkeys(filter(None, map(_text, errors)))
    objects = [error for error in errors if isinstance(error, dict)]
    codes = [_shown(error[key]) for error in objects for key in ("code", "type", "status") if error.get(key)]
    code = " ".join(dict.fromkeys(codes))
    params = [param for error in objects if (param := _param(error))]
    written = (error.get("failed_generation") for error in objects)
    generations = [generation for generation in written if isinstance(generation, str)]
    return ErrorBody(
        message=" ".join(messages),
        code=code,
        param=params[-1] if params else "",
        status=_status(code),
        generation=generations[-1] if generations else None,
    )


def load_json(raw: bytes) -> Any:
    """Load JSON in which raw control characters and lone surrogates are allowed. Raises ValueError."""
    try:
        return json.loads(raw.decode(errors="replace"), strict=False)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _errors(tree: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the errors of a body, the outermost first: a gateway wraps that of the provider."""
    if isinstance(tree, list) and len(tree) == 1:
        tree = tree[0]
    if not isinstance(tree, dict) or not (inner := tree.get("error")):
        yield tree
        return
    if isinstance(inner, dict):
        # Some put codes beside the error: {"error": {"message": ...}, "code": 429}.
        inner = {key: tree[key] for key in ("code", "status") if isinstance(tree.get(key), int | str)} | inner
    yield inner
    metadata = inner.get("metadata") if isinstance(inner, dict) else None
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str) and depth < _DEEPEST:
        try:
            yield from _errors(load_json(raw.encode(errors="replace")), depth + 1)
        except ValueError:
            yield raw


def _text(error: Any) -> str:
    if isinstance(error, str):
        return _TAGS.sub(" ", error)
    text = (error.get("message") or error.get("detail")) if isinstance(error, dict) else None
    return _shown(text) if text else ""


def _param(error: dict[str, Any]) -> str:
    if isinstance(param := error.get("param"), str):
        return param
    message = error.get("message")
    detail = error.get("detail") or (message.get("detail") if isinstance(message, dict) else None)
    first = detail[0] if isinstance(detail, list) and detail else None
    place = first.get("loc") if isinstance(first, dict) else None
    return ".".join(map(str, place)).removeprefix("body.") if isinstance(place, list) else ""


def _status(code: str) -> int | None:
    for word in code.split():
        if re.fullmatch(r"[45]\d\d", word):
            return int(word)
    lower = code.lower()
    return next((status for word, status in _STATUSES.items() if word in lower), None)


def _shown(value: Any) -> str:
    """Return a text as it is, and anything else as JSON; empty if it is nested too deep."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return ""
