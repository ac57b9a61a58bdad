"""The body of an error answer, as servers, gateways and routers write it.

`error` may be an object, a text or absent, or the body is a list with one error (Gemini). Codes are texts (OpenAI) or
numbers (vLLM, llama.cpp). In FastAPI's `detail`, `loc` is the path of the wrong field. OpenRouter puts the provider's
body into `metadata.raw`. Some servers send an error with the status 200.
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
"""Words in a code or type, and the status that they mean. The first word that occurs counts."""
_DEEPEST = 4


class ErrorBody(NamedTuple):
    message: str
    code: str = ""
    """All codes and types, as one text."""
    param: str = ""
    """The path of the wrong field, for example `messages.2.content`."""
    status: int | None = None
    """The status that the body states or implies."""
    generation: str | None = None
    """The text of the model that the server could not read as a call or as JSON (Groq)."""


def parse_error(raw: bytes) -> ErrorBody:
    try:
        tree = load_json(raw)
    except ValueError:
        return ErrorBody(_TAGS.sub(" ", raw.decode(errors="replace")))
    return describe_error(tree)


def describe_error(tree: Any) -> ErrorBody:
    errors = list(_errors(tree))
    messages = dict.fromkeys(filter(None, map(_read_text, errors)))
    objects = [error for error in errors if isinstance(error, dict)]
    codes = [_as_text(error[key]) for error in objects for key in ("code", "type", "status") if error.get(key)]
    code = " ".join(dict.fromkeys(codes))
    params = [param for error in objects if (param := _read_param(error))]
    generations = [text for error in objects if isinstance(text := error.get("failed_generation"), str)]
    return ErrorBody(
        message=" ".join(messages),
        code=code,
        param=params[-1] if params else "",
        status=_infer_status(code),
        generation=generations[-1] if generations else None,
    )


def load_json(raw: bytes) -> Any:
    """Load JSON in which raw control characters and lone surrogates are allowed. Raises ValueError."""
    try:
        return json.loads(raw.decode(errors="replace"), strict=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _errors(tree: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the errors of a body, the outermost first. A gateway wraps the provider's error."""
    if isinstance(tree, list) and len(tree) == 1:
        tree = tree[0]
    if not isinstance(tree, dict) or not (inner := tree.get("error")):
        yield tree
        return
    if isinstance(inner, dict):
        # Some servers put codes beside the error: {"error": {"message": ...}, "code": 429}.
        inner = {key: tree[key] for key in ("code", "status") if isinstance(tree.get(key), int | str)} | inner
    yield inner
    metadata = inner.get("metadata") if isinstance(inner, dict) else None
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str) and depth < _DEEPEST:
        try:
            yield from _errors(load_json(raw.encode(errors="replace")), depth + 1)
        except ValueError:
            yield raw


def _read_text(error: Any) -> str:
    if isinstance(error, str):
        return _TAGS.sub(" ", error)
    text = (error.get("message") or error.get("detail")) if isinstance(error, dict) else None
    return _as_text(text) if text else ""


def _read_param(error: dict[str, Any]) -> str:
    if isinstance(param := error.get("param"), str):
        return param
    message = error.get("message")
    detail = error.get("detail") or (message.get("detail") if isinstance(message, dict) else None)
    first = detail[0] if isinstance(detail, list) and detail else None
    path = first.get("loc") if isinstance(first, dict) else None
    return ".".join(map(str, path)).removeprefix("body.") if isinstance(path, list) else ""


def _infer_status(code: str) -> int | None:
    for word in code.split():
        if re.fullmatch(r"[45]\d\d", word):
            return int(word)
    lower = code.lower()
    return next((status for word, status in _STATUSES.items() if word in lower), None)


def _as_text(value: Any) -> str:
    """Return a text as it is and anything else as JSON, or an empty text if it is nested too deeply."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return ""
