"""A request as the body of a Chat Completions call.

System prompt and tools come first and never change within a conversation, and messages are only added, so that a server
can cache the prefix. What a server refuses is left out or sent in another form: its `Dialect`.
"""

from collections.abc import Container, Mapping
from typing import Any

import orjson

from pipeline.llm import text_tools
from pipeline.llm.base import Request, Schema, Tool
from pipeline.llm.conversation_shape import answer_results, fold_system, is_empty_turn, join_users
from pipeline.llm.schemas import inlined
from pipeline.llm.server_fields import load_fields, server_ids
from pipeline.types import Message, ToolCall, sha256

_UNSTRICT = ("title", "default", "maxLength", "minLength", "pattern", "format")
Dialect = frozenset[str]
"""The names of `concessions` that a server needs."""


def wire_seed(run_seed: int, sample: int) -> int:
    """The same for all turns and retries of one rollout; 31 bits, which every server accepts."""
    return int(sha256(f"{run_seed}:{sample}")[:8], 16) & 0x7FFFFFFF


def body(request: Request, run_seed: int, without: Dialect = frozenset()) -> dict[str, Any]:
    """Return the JSON of the call, in the `without` dialect."""
    if request.tools and request.calls != "native":
        request = text_tools.without_tools(request, constrained="response_format" not in without)
    sampling = request.sampling
    tree: dict[str, Any] = {
        "model": request.model,
        "messages": _messages(request, without),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_completion_tokens": sampling.max_tokens,
        "seed": wire_seed(run_seed if sampling.seed is None else sampling.seed, request.sample),
    }
    tree |= sampling.model_dump(include={"top_k", "min_p"})
    if request.tools:
        tree["tools"] = [_tool(tool, without) for tool in request.tools]
        tree["tool_choice"] = _choice(request.tool_choice)
        if not request.parallel_calls or request.tool_choice not in ("auto", "none"):
            # One call in a forced turn: vLLM's grammar would allow calls until the tokens end.
            tree["parallel_tool_calls"] = False
    if request.output:
        tree["response_format"] = _format(request.output, without)
    if "max_completion_tokens" in without:
        tree["max_tokens"] = sampling.max_tokens
    if "no_stream" in without:
        tree |= {"stream": True, "stream_options": {"include_usage": True}}
    extra = sampling.extra_body or {}
    if request.tools and "reasoning_with_tools" in without:
        # GPT-5.5 takes tools only without reasoning. An effort that is set goes first: then tools are refused.
        extra = {"reasoning_effort": "none"} | extra
    return extra | {key: value for key, value in tree.items() if key not in without}


def _messages(request: Request, without: Dialect) -> list[dict[str, Any]]:
    messages = list(request.messages)
    if request.output and "response_format" in without:
        schema = orjson.dumps(inlined(request.output.body)).decode()
        last = messages[-1]
        asked = f"{last.content}\n\nAnswer with one JSON object of this schema and nothing else:\n{schema}"
        messages[-1] = last.model_copy(update={"content": asked})
    messages = join_users(message for message in messages if not is_empty_turn(message))
    if "user_after_tool" in without:
        messages = answer_results(messages)
    if "system_role" in without:
        messages = fold_system(messages)
    ids = {} if "server_ids" in without else server_ids(messages)
    return [_message(message, ids, without, thoughts=request.thoughts) for message in messages]


def _message(message: Message, ids: Mapping[str, str], without: Dialect, *, thoughts: bool) -> dict[str, Any]:
    tree: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        if not message.content and "empty_content" not in without:
            tree = {"role": message.role} if "null_content" in without else {"role": message.role, "content": None}
        tree["tool_calls"] = [_call(call, ids) for call in message.tool_calls]
    if thoughts and message.role == "assistant":
        fields = load_fields(message.server_fields)
        if "content" not in fields and (message.reasoning or message.tool_calls):
            # vLLM reads `reasoning`; DeepSeek, SGLang and llama.cpp `reasoning_content`, which DeepSeek and Kimi want
            # beside every call. Most ignore the other.
            names = {"reasoning", "reasoning_content"} if message.reasoning else {"reasoning_content"}
            tree |= dict.fromkeys(sorted(names - without), message.reasoning)
        tree |= fields
    if message.role == "tool":
        tree["tool_call_id"] = ids.get(message.tool_call_id, message.tool_call_id)
    return tree


def _call(call: ToolCall, ids: Mapping[str, str]) -> dict[str, Any]:
    """llama.cpp answers 500 to a history with arguments that are not JSON."""
    try:
        good = isinstance(orjson.loads(call.arguments), dict)
    except orjson.JSONDecodeError:
        good = False
    arguments = call.arguments if good else orjson.dumps({"unreadable": call.arguments}).decode()
    fields = load_fields(call.server_fields)
    function = {"name": call.name, "arguments": arguments} | fields.get("function", {})
    return fields | {"id": ids.get(call.id, call.id), "type": "function", "function": function}


def _tool(tool: Tool, without: Dialect) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": _sent(inlined(tool.parameters), without),
    }
    if without.isdisjoint(("strict", "additionalProperties")) and _closed(function["parameters"]):
        # Without it vLLM accepts any JSON as arguments, even where a call is required.
        function["strict"] = True
    return {"type": "function", "function": function}


def _sent(schema: Any, without: Dialect, kept: Container[str] = ()) -> Any:
    closed = strictly(schema, kept)
    return _opened(closed) if "additionalProperties" in without else closed


def _opened(schema: Any) -> Any:
    """Return the schema without `additionalProperties`, which some servers do not know."""
    if isinstance(schema, list):
        return [_opened(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _opened(value) for key, value in schema.items() if key != "additionalProperties" or value is not False}


def _closed(schema: Any) -> bool:
    """Does the schema name all properties of its objects? OpenAI refuses others in strict mode."""
    if isinstance(schema, list):
        return all(map(_closed, schema))
    if not isinstance(schema, dict):
        return True
    return (schema.get("type") != "object" or "properties" in schema) and all(map(_closed, schema.values()))


def _choice(choice: str) -> str | dict[str, Any]:
    if choice in ("auto", "required", "none"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _format(output: Schema, without: Dialect) -> dict[str, Any]:
    # A call's texts are read leniently, and must end.
    kept = ("maxLength",) if output.name == text_tools.CALL else ()
    form: dict[str, Any] = {"name": output.name, "schema": _sent(inlined(output.body), without, kept)}
    if without.isdisjoint(("strict", "additionalProperties")):
        form["strict"] = True
    return {"type": "json_schema", "json_schema": form}


def strictly(schema: Any, kept: Container[str] = ()) -> Any:
    """The schema for strict mode: closed objects, all properties required, no defaults, no lengths but those `kept`.

    With a length xgrammar allows control characters in strings.
    """
    if isinstance(schema, list):
        return [strictly(item, kept) for item in schema]
    if not isinstance(schema, dict):
        return schema
    tree: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            tree[key] = {name: strictly(item, kept) for name, item in value.items()}
        elif key in kept or key not in _UNSTRICT:
            tree[key] = strictly(value, kept)
    if isinstance(properties := schema.get("properties"), dict):
        tree |= {"required": list(properties), "additionalProperties": False}
    return tree
