"""The body of an answer as a completion, read as leniently as servers write.

No field is trusted to exist or to have its type: what can be read is read, and only an answer without a message is a
`CallFailure`, which is retried. Calls are read wherever the model or its server put them (`written_calls`).
"""

import json
from collections.abc import Sequence
from typing import Any

import orjson

from pipeline.config.models import ToolMode
from pipeline.llm import text_tools, written_calls
from pipeline.llm.base import Completion, Finish, Schema, Tool
from pipeline.llm.error_body import ErrorBody, describe_error, load_json
from pipeline.llm.event_stream import is_stream, join_stream
from pipeline.llm.retry import CallFailure
from pipeline.llm.schemas import scrubbed
from pipeline.llm.server_fields import call_fields, is_thought, message_fields
from pipeline.llm.token_usage import read_usage
from pipeline.llm.written_calls import Offered
from pipeline.text.redact import is_disguised
from pipeline.types import Message, ToolCall, Usage

_FINISHES = {
    "stop": Finish.STOP,
    "tool_calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
}
_BROKEN = ("abort", "error", "cancelled")
_MALFORMED = ("malformed_function_call", "unexpected_tool_call")
"""In a finish reason of Gemini, which then gives no message: the model's call could not be read."""
KEY_MARK = "[api key]"
LEAST_KEY = 8
"""Shorter keys are no secrets but words, such as `EMPTY`, which occur in ordinary answers."""
_OF_CALL = ("id", "name", "arguments", "server_fields")
_LONGEST_NAME = 200
"""The longest name of a tool or id of a call; OpenAI's own limit is 64."""


class ErrorAnswer(Exception):
    """An answer with a good status whose body is an error."""

    def __init__(self, body: ErrorBody) -> None:
        super().__init__(body.message)
        self.body = body


def completion(
    raw: bytes,
    tools: Sequence[Tool] = (),
    output: Schema | None = None,
    calls: ToolMode = "native",
    *,
    shared_prefix: float = 0.0,
) -> Completion:
    """The answer to a request that offered these tools in that mode, or asked for an object of that schema.

    Raises ErrorAnswer if the body is an error that means a status, and CallFailure, in the server's own words, if it
    holds no answer for another reason.
    """
    tree = _load(raw)
    choices = _get(tree, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    answer, reason = _get(choice, "message"), _get(choice, "finish_reason")
    if not isinstance(answer, dict) and isinstance(reason, str) and any(word in reason.lower() for word in _MALFORMED):
        answer = {}
    if not isinstance(answer, dict) or reason in _BROKEN:
        error = _get(choice, "error")
        body = describe_error({"error": error} if error else tree)
        if body.status:
            raise ErrorAnswer(body)
        raise CallFailure("the answer holds no message" + (f" ({body.message})" if body.message else ""), "inside")
    usage = read_usage(tree, shared_prefix)
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


def unread_call(generation: str) -> bytes:
    """Return the body of an answer with this text, which a server gave in an error since it could not read it."""
    return orjson.dumps({"choices": [{"message": {"content": generation}, "finish_reason": "stop"}]})


def keyless(completion: Completion, key: str) -> Completion:
    """The same without the key, which a server may repeat: answers are stored and published.

    An answer that would show the key once it is decoded or cleaned counts as filtered.
    """
    if len(key) < LEAST_KEY:
        return completion
    message = completion.message
    texts = [message.content, message.reasoning, message.server_fields]
    texts += [getattr(call, name) for call in message.tool_calls for name in _OF_CALL]
    if any(is_disguised(text.replace(key, ""), key) for text in texts):
        return Completion(message=Message(role="assistant"), finish=Finish.CONTENT_FILTER, usage=completion.usage)
    if not any(key in text for text in texts):
        return completion

    def marked(part: Message | ToolCall, *fields: str) -> Any:
        return part.model_copy(update={name: getattr(part, name).replace(key, KEY_MARK) for name in fields})

    calls = tuple(marked(call, *_OF_CALL) for call in message.tool_calls)
    kept = marked(message, "content", "reasoning", "server_fields").model_copy(update={"tool_calls": calls})
    return completion.model_copy(update={"message": kept})


def _load(raw: bytes) -> Any:
    if is_stream(raw):
        if (joined := join_stream(raw)) is None:
            raise CallFailure("the stream of the answer was cut off")
        return joined
    try:
        return load_json(raw)
    except ValueError as error:
        raise CallFailure("the answer is no JSON, or was cut off") from error


def _get(tree: Any, key: str) -> Any:
    return tree.get(key) if isinstance(tree, dict) else None


def _message(answer: dict[str, Any], offered: Offered, mode: ToolMode) -> Message:
    content = _text(answer.get("content"))
    reasoning = _text(answer.get("reasoning")) or _text(answer.get("reasoning_content")) or _thought(answer)
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
    return Message(
        role="assistant",
        content=content,
        reasoning=reasoning,
        tool_calls=calls,
        server_fields=message_fields(answer),
    )


def _thoughts(content: str) -> tuple[str, str]:
    """Reasoning and text, which a server without a parser mixes; the opening tag is often part of the prompt."""
    thoughts, closed, rest = content.partition("</think>")
    if closed:
        return thoughts.strip().removeprefix("<think>").strip(), rest.strip()
    opened = content.lstrip().startswith("<think>")
    return (content.strip().removeprefix("<think>").strip(), "") if opened else ("", content)


def _text(value: Any) -> str:
    """Return a text, or the texts of a list of parts, without the parts that are thoughts."""
    if isinstance(value, list):
        parts = (part for part in value if isinstance(part, dict) and not is_thought(part))
        value = "".join(text for part in parts if isinstance(text := part.get("text"), str))
    return scrubbed(value) if isinstance(value, str) else ""


def _thought(answer: dict[str, Any]) -> str:
    """Return the thoughts among the parts of a content: Mistral's are lists of texts, Anthropic's are texts."""
    parts = answer["content"] if isinstance(answer.get("content"), list) else []
    thoughts = [part for part in parts if isinstance(part, dict) and is_thought(part)]
    return "\n".join(filter(None, (_text(part.get("thinking")) or _text(part.get("text")) for part in thoughts)))


def _call(item: Any) -> ToolCall | None:
    function = _get(item, "function")
    name = _get(function, "name")
    if not isinstance(name, str):
        return None
    given = _get(function, "arguments")
    arguments = _arguments(given)
    mended = isinstance(given, str) and given != arguments
    return ToolCall(
        id=_text(_get(item, "id")),
        name=_text(name),
        arguments=arguments,
        repaired=mended,
        server_fields=call_fields(item),
    )


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
