"""The body of an answer as a completion, read as leniently as servers write.

No field is trusted to exist or to have its type: what can be read is read, and only an answer without a message is a
`CallFailure`, which is retried. Calls are read wherever the model or its server put them (`written_calls`).
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import orjson

from pipeline.config.models import ToolMode
from pipeline.llm import text_tools, written_calls
from pipeline.llm.base import Completion, Finish, Schema, Tool
from pipeline.llm.retry import CallFailure
from pipeline.llm.schemas import scrubbed
from pipeline.llm.written_calls import Offered
from pipeline.text.redact import disguised
from pipeline.types import Message, ToolCall, Usage

_TAGS = re.compile(r"<[^<>]{0,200}>")
_FINISHES = {
    "stop": Finish.STOP,
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
}
_BROKEN = ("abort", "error", "cancelled")
KEY_MARK = "[api key]"
LEAST_KEY = 8
"""Shorter keys are no secrets but words, such as `EMPTY`, which occur in ordinary answers."""
_LONGEST_NAME = 200
"""The longest name of a tool or id of a call; OpenAI's own limit is 64."""


def load(raw: bytes) -> Any:
    """JSON in which raw control characters and lone surrogates are allowed. Raises ValueError."""
    try:
        return json.loads(raw.decode(errors="replace"), strict=False)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def completion(
    raw: bytes, tools: Sequence[Tool] = (), output: Schema | None = None, calls: ToolMode = "native"
) -> Completion:
    """The answer to a request that offered these tools in that mode, or asked for an object of that schema.

    Raises CallFailure, in the server's own words, where the body holds no answer.
    """
    try:
        tree = load(raw)
    except ValueError as error:
        raise CallFailure("the answer is no JSON, or was cut off") from error
    choices = _get(tree, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    answer = _get(choice, "message")
    reason = _get(choice, "finish_reason")
    if not isinstance(answer, dict) or reason in _BROKEN:
        why = _error_text(tree) or _error_text({"error": _get(choice, "error")})
        raise CallFailure("the answer holds no message" + (f" ({why})" if why else ""), "inside")
    usage = _usage(_get(tree, "usage"))
    message = _message(answer, Offered(tools), calls)
    if output and message.content:
        content = written_calls.first_object(message.content, output.body)
        message = message.model_copy(update={"content": content})
    elif output:
        thoughts, content = written_calls.last_object(message.reasoning, output.body)
        message = message.model_copy(update={"reasoning": thoughts, "content": content})
    return Completion(message=message, finish=_finish(reason, message, _get(answer, "refusal")), usage=usage)


def empty(finish: Finish) -> Completion:
    """The answer where the endpoint refused to give one. A request that is too long for the model is no call."""
    return Completion(message=Message(role="assistant"), finish=finish, usage=Usage(calls=finish is not Finish.CONTEXT))


def error_message(raw: bytes) -> tuple[str, str]:
    """The message of an error answer, and its codes and types in one text.

    `error` may be an object or a text, or the whole may be `detail` or a page of HTML. OpenAI's codes are texts, vLLM's
    and llama.cpp's are numbers.
    """
    try:
        tree = load(raw)
    except ValueError:
        tree = None
    inner = _get(tree, "error")
    codes = [_get(inner if isinstance(inner, dict) else tree, key) for key in ("code", "type", "param")]
    message = _error_text(tree) or _TAGS.sub(" ", raw.decode(errors="replace"))
    return message, " ".join(_shown(code) for code in codes if code is not None)


def keyless(completion: Completion, key: str) -> Completion:
    """The same without the key, which a server may repeat: answers are stored and published.

    An answer that would show the key once it is decoded or cleaned counts as filtered.
    """
    if len(key) < LEAST_KEY:
        return completion
    message = completion.message
    texts = [message.content, message.reasoning]
    texts += [text for call in message.tool_calls for text in (call.id, call.name, call.arguments)]
    if any(disguised(text.replace(key, ""), key) for text in texts):
        return Completion(message=Message(role="assistant"), finish=Finish.CONTENT_FILTER, usage=completion.usage)
    if not any(key in text for text in texts):
        return completion

    def marked(part: Message | ToolCall, *fields: str) -> Any:
        return part.model_copy(update={name: getattr(part, name).replace(key, KEY_MARK) for name in fields})

    calls = tuple(marked(call, "id", "name", "arguments") for call in message.tool_calls)
    kept = marked(message, "content", "reasoning").model_copy(update={"tool_calls": calls})
    return completion.model_copy(update={"message": kept})


def _error_text(tree: Any) -> str:
    """The text of an error in an answer; empty where it has none."""
    if isinstance(tree, str):
        return _TAGS.sub(" ", tree)
    inner = _get(tree, "error")
    text = _get(inner if isinstance(inner, dict) else tree, "message") or inner or _get(tree, "detail")
    return _shown(text) if text else ""


def _shown(value: Any) -> str:
    """A text as it is, all else as JSON; empty where that is nested too deep."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return ""


def _get(tree: Any, key: str) -> Any:
    return tree.get(key) if isinstance(tree, dict) else None


def _message(answer: dict[str, Any], offered: Offered, mode: ToolMode) -> Message:
    content = _text(answer.get("content"))
    reasoning = _text(answer.get("reasoning")) or _text(answer.get("reasoning_content"))
    if not reasoning:
        reasoning, content = _thoughts(content)
    listed = answer.get("tool_calls")
    calls = tuple(call for item in (listed if isinstance(listed, list) else []) if (call := _call(item)))
    if calls:
        calls = tuple(map(offered.repaired, calls))
    elif mode == "schema" and (call := text_tools.sole_call(content, offered)):
        content, calls = "", (call,)
    elif offered.schemas and content:
        content, calls = written_calls.calls(content, offered)
    elif offered.schemas:
        reasoning, calls = written_calls.last_calls(reasoning, offered)
    if "<tool_call>" in content and offered.schemas:
        # What is left of them stands beside calls that the server has read, or was cut off.
        content = content.partition("<tool_call>")[0].rstrip()
    calls = tuple(
        call.model_copy(update={"id": call.id[:_LONGEST_NAME], "name": call.name[:_LONGEST_NAME]}) for call in calls
    )
    return Message(role="assistant", content=content, reasoning=reasoning, tool_calls=calls)


def _thoughts(content: str) -> tuple[str, str]:
    """Reasoning and text, which a server without a parser mixes; the opening tag is often part of the prompt."""
    thoughts, closed, rest = content.partition("</think>")
    if closed:
        return thoughts.strip().removeprefix("<think>").strip(), rest.strip()
    opened = content.lstrip().startswith("<think>")
    return (content.strip().removeprefix("<think>").strip(), "") if opened else ("", content)


def _text(value: Any) -> str:
    """A text, or a list of parts, of which the texts count."""
    if isinstance(value, list):
        value = "".join(text for part in value if isinstance(text := _get(part, "text"), str))
    return scrubbed(value) if isinstance(value, str) else ""


def _call(item: Any) -> ToolCall | None:
    function = _get(item, "function")
    name = _get(function, "name")
    if not isinstance(name, str):
        return None
    given = _get(function, "arguments")
    arguments = _arguments(given)
    mended = isinstance(given, str) and given != arguments
    return ToolCall(id=_text(_get(item, "id")), name=_text(name), arguments=arguments, repaired=mended)


def _arguments(value: Any) -> str:
    """A JSON object as text where it can be read as one; otherwise what the model wrote."""
    if isinstance(value, str):
        try:
            orjson.loads(value)
            return value
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            pass
        try:
            # Some grammars let raw control characters into strings.
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return scrubbed(value)
    try:
        return scrubbed(json.dumps(value, ensure_ascii=False))
    except (TypeError, RecursionError):
        return ""


def _finish(reason: Any, message: Message, refusal: Any) -> Finish:
    """Servers report `stop` for a forced call, `tool_calls` without a call where it was lost, or nothing."""
    finish = _FINISHES.get(reason) if isinstance(reason, str) else None
    if finish in (Finish.LENGTH, Finish.CONTENT_FILTER):
        return finish
    if message.tool_calls:
        return Finish.TOOL_CALLS
    if refusal and not message.content:
        return Finish.CONTENT_FILTER
    return Finish.STOP if message.content or not message.reasoning else Finish.EMPTY


def _usage(tree: Any) -> Usage:
    """Missing counts are 0; no part is greater than its whole, and none negative."""
    prompt, completion = _count(tree, "prompt_tokens"), _count(tree, "completion_tokens")
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=min(prompt, _count(_get(tree, "prompt_tokens_details"), "cached_tokens")),
        reasoning_tokens=min(completion, _count(_get(tree, "completion_tokens_details"), "reasoning_tokens")),
    )


def _count(tree: Any, key: str) -> int:
    value = _get(tree, key)
    return max(0, int(value)) if isinstance(value, int | float) and abs(value) < 1e12 else 0
