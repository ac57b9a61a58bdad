"""Parser of the body of an answer into a completion. It is lenient, since servers differ.

No field is trusted to exist or to have its type. Only an answer without a message is a `CallFailure`, which is retried.
Calls are read wherever the model or its server put them (`written_calls`).
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
from pipeline.llm.schemas import replace_surrogates
from pipeline.llm.server_fields import call_fields, is_thought, message_fields
from pipeline.llm.token_usage import read_usage
from pipeline.llm.written_calls import OfferedTools
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
"""Words in a finish reason of Gemini if it could not read the model's call. It then sends no message."""
KEY_MARK = "[api key]"
LEAST_KEY = 8
"""Shorter keys are not secrets but words like `EMPTY`, which occur in ordinary answers."""
_CALL_TEXTS = ("id", "name", "arguments", "server_fields")
_LONGEST_NAME = 200
"""The longest name or id of a call; OpenAI's own limit is 64."""


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
    """Parse the answer to a request with these tools in the mode `calls`, or with this output schema.

    Raises ErrorAnswer if the body is an error that implies a status. Raises CallFailure, with the server's own words,
    if there is no message for another reason.
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
    message = _read_message(answer, OfferedTools(tools), calls)
    if output and message.content:
        content = written_calls.extract_object(message.content, output.body)
        message = message.model_copy(update={"content": content})
    elif output:
        thoughts, content = written_calls.extract_last_object(message.reasoning, output.body)
        message = message.model_copy(update={"reasoning": thoughts, "content": content})
    return Completion(message=message, finish=_choose_finish(reason, message, _get(answer, "refusal")), usage=usage)


def empty_completion(finish: Finish) -> Completion:
    """Build a completion without text. A request that is too long for the model does not count as a call."""
    return Completion(message=Message(role="assistant"), finish=finish, usage=Usage(calls=finish is not Finish.CONTEXT))


def unread_call(generation: str) -> bytes:
    """Return the body of an answer with a text that a server could not read as a call and put into an error."""
    return orjson.dumps({"choices": [{"message": {"content": generation}, "finish_reason": "stop"}]})


def remove_key(completion: Completion, key: str) -> Completion:
    """Replace the key, which a server may repeat, since answers are stored and published.

    An answer that would reveal the key once it is decoded or cleaned counts as filtered. Returns the same object if the
    key is not in it.
    """
    if len(key) < LEAST_KEY:
        return completion
    message = completion.message
    texts = [message.content, message.reasoning, message.server_fields]
    texts += [getattr(call, name) for call in message.tool_calls for name in _CALL_TEXTS]
    if any(is_disguised(text.replace(key, ""), key) for text in texts):
        return Completion(message=Message(role="assistant"), finish=Finish.CONTENT_FILTER, usage=completion.usage)
    if not any(key in text for text in texts):
        return completion

    def redact(part: Message | ToolCall, *fields: str) -> Any:
        return part.model_copy(update={name: getattr(part, name).replace(key, KEY_MARK) for name in fields})

    calls = tuple(redact(call, *_CALL_TEXTS) for call in message.tool_calls)
    message = redact(message, "content", "reasoning", "server_fields").model_copy(update={"tool_calls": calls})
    return completion.model_copy(update={"message": message})


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


def _read_message(answer: dict[str, Any], tools: OfferedTools, mode: ToolMode) -> Message:
    content = _read_text(answer.get("content"))
    reasoning = _read_text(answer.get("reasoning")) or _read_text(answer.get("reasoning_content"))
    reasoning = reasoning or _read_thoughts(answer)
    if not reasoning:
        reasoning, content = _split_thoughts(content)
    entries = answer.get("tool_calls")
    calls = tuple(call for entry in (entries if isinstance(entries, list) else []) if (call := _read_call(entry)))
    if calls:
        calls = tuple(map(tools.repair, calls))
    elif mode == "schema" and (call := text_tools.parse_call(content, tools)):
        content, calls = "", (call,)
    elif tools.schemas and content:
        content, calls = written_calls.extract_calls(content, tools)
    elif tools.schemas:
        reasoning, calls = written_calls.extract_last_calls(reasoning, tools)
    if "<tool_call>" in content and tools.schemas:
        # Remove calls that the server has read but left in the text, and calls that were cut off.
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


def _split_thoughts(content: str) -> tuple[str, str]:
    """Split reasoning from text if the server has no parser. The opening tag is often part of the prompt."""
    thoughts, closing_tag, text = content.partition("</think>")
    if closing_tag:
        return thoughts.strip().removeprefix("<think>").strip(), text.strip()
    has_opening_tag = content.lstrip().startswith("<think>")
    return (content.strip().removeprefix("<think>").strip(), "") if has_opening_tag else ("", content)


def _read_text(value: Any) -> str:
    """Return a text, or join the texts of a list of parts, without the parts that are thoughts."""
    if isinstance(value, list):
        parts = (part for part in value if isinstance(part, dict) and not is_thought(part))
        value = "".join(text for part in parts if isinstance(text := part.get("text"), str))
    return replace_surrogates(value) if isinstance(value, str) else ""


def _read_thoughts(answer: dict[str, Any]) -> str:
    """Join the thoughts among the parts of a content. Mistral's are lists of texts, Anthropic's are texts."""
    parts = answer["content"] if isinstance(answer.get("content"), list) else []
    thoughts = [part for part in parts if isinstance(part, dict) and is_thought(part)]
    return "\n".join(
        filter(None, (_read_text(part.get("thinking")) or _read_text(part.get("text")) for part in thoughts))
    )


def _read_call(entry: Any) -> ToolCall | None:
    function = _get(entry, "function")
    name = _get(function, "name")
    if not isinstance(name, str):
        return None
    raw_arguments = _get(function, "arguments")
    arguments = _clean_arguments(raw_arguments)
    return ToolCall(
        id=_read_text(_get(entry, "id")),
        name=_read_text(name),
        arguments=arguments,
        repaired=isinstance(raw_arguments, str) and raw_arguments != arguments,
        server_fields=call_fields(entry),
    )


def _clean_arguments(value: Any) -> str:
    if isinstance(value, str):
        try:
            orjson.loads(value)
            return value
        except (orjson.JSONDecodeError, UnicodeEncodeError):
            pass
        try:
            # Some grammars allow raw control characters in strings.
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return replace_surrogates(value)
    try:
        return replace_surrogates(json.dumps(value, ensure_ascii=False))
    except (TypeError, RecursionError):
        return ""


def _choose_finish(reason: Any, message: Message, refusal: Any) -> Finish:
    """Correct the finish reason: servers report `stop` for a forced call, `tool_calls` for a lost call, or nothing."""
    finish = _FINISHES.get(reason) if isinstance(reason, str) else None
    if finish in (Finish.LENGTH, Finish.CONTENT_FILTER):
        return finish
    if message.tool_calls:
        return Finish.TOOL_CALLS
    if refusal and not message.content:
        return Finish.CONTENT_FILTER
    return Finish.STOP if message.content or not message.reasoning else Finish.EMPTY
