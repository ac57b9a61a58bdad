"""A request as the body of a Chat Completions call.

System prompt and tools come first and never change within a conversation, and messages are only appended, so that a
server can cache the prefix. What a server refuses is left out or sent in another form: its `Dialect`.
"""

from collections.abc import Container, Mapping
from typing import Any

import orjson

from pipeline.llm import text_tools
from pipeline.llm.base import Request, Schema, Tool
from pipeline.llm.conversation_shape import answer_results, fold_system, is_empty_turn, join_users
from pipeline.llm.schemas import inline_refs
from pipeline.llm.server_fields import load_fields, server_ids
from pipeline.types import Message, ToolCall, sha256

_UNSTRICT = ("title", "default", "maxLength", "minLength", "pattern", "format")
Dialect = frozenset[str]
"""The names of `concessions` that a server needs."""


def wire_seed(run_seed: int, sample: int) -> int:
    """Return the seed of all turns and retries of one rollout, in 31 bits, which every server accepts."""
    return int(sha256(f"{run_seed}:{sample}")[:8], 16) & 0x7FFFFFFF


def body(request: Request, run_seed: int, without: Dialect = frozenset()) -> dict[str, Any]:
    if request.tools and request.calls != "native":
        request = text_tools.without_tools(request, constrained="response_format" not in without)
    sampling = request.sampling
    tree: dict[str, Any] = {
        "model": request.model,
        "messages": _build_messages(request, without),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_completion_tokens": sampling.max_tokens,
        "seed": wire_seed(run_seed if sampling.seed is None else sampling.seed, request.sample),
    }
    tree |= sampling.model_dump(include={"top_k", "min_p"}, exclude_none=True)
    if request.tools:
        tree["tools"] = [_build_tool(tool, without) for tool in request.tools]
        choice = request.tool_choice
        is_mode = choice in ("auto", "required", "none")
        tree["tool_choice"] = choice if is_mode else {"type": "function", "function": {"name": choice}}
        if not request.parallel_calls or choice not in ("auto", "none"):
            # Allow one call in a forced turn: vLLM's grammar would allow calls up to the token limit.
            tree["parallel_tool_calls"] = False
    if request.output:
        tree["response_format"] = _build_format(request.output, without)
    if "max_completion_tokens" in without:
        tree["max_tokens"] = sampling.max_tokens
    if "no_stream" in without:
        tree |= {"stream": True, "stream_options": {"include_usage": True}}
    extra = sampling.extra_body or {}
    if request.tools and "reasoning_with_tools" in without:
        # GPT-5.5 takes tools only without reasoning. A configured effort has precedence; then it refuses the tools.
        extra = {"reasoning_effort": "none"} | extra
    return extra | {key: value for key, value in tree.items() if key not in without}


def _build_messages(request: Request, without: Dialect) -> list[dict[str, Any]]:
    messages = list(request.messages)
    if request.output and "response_format" in without:
        schema = orjson.dumps(inline_refs(request.output.body)).decode()
        last = messages[-1]
        content = f"{last.content}\n\nAnswer with one JSON object of this schema and nothing else:\n{schema}"
        messages[-1] = last.model_copy(update={"content": content})
    messages = join_users(message for message in messages if not is_empty_turn(message))
    if "user_after_tool" in without:
        messages = answer_results(messages)
    if "system_role" in without:
        messages = fold_system(messages)
    ids = {} if "server_ids" in without else server_ids(messages)
    return [_build_message(message, ids, without, thoughts=request.thoughts) for message in messages]


def _build_message(message: Message, ids: Mapping[str, str], without: Dialect, *, thoughts: bool) -> dict[str, Any]:
    tree: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        if not message.content and "empty_content" not in without:
            tree = {"role": message.role} if "null_content" in without else {"role": message.role, "content": None}
        tree["tool_calls"] = [_build_call(call, ids) for call in message.tool_calls]
    if thoughts and message.role == "assistant":
        fields = load_fields(message.server_fields)
        if "content" not in fields and (message.reasoning or message.tool_calls):
            # vLLM reads `reasoning`; DeepSeek, SGLang and llama.cpp read `reasoning_content`, which DeepSeek and Kimi
            # require beside every call. Most servers ignore the field that they do not read.
            names = {"reasoning", "reasoning_content"} if message.reasoning else {"reasoning_content"}
            tree |= dict.fromkeys(sorted(names - without), message.reasoning)
        tree |= fields
    if message.role == "tool":
        tree["tool_call_id"] = ids.get(message.tool_call_id, message.tool_call_id)
    return tree


def _build_call(call: ToolCall, ids: Mapping[str, str]) -> dict[str, Any]:
    # llama.cpp answers 500 to a history with arguments that are not JSON.
    try:
        is_object = isinstance(orjson.loads(call.arguments), dict)
    except orjson.JSONDecodeError:
        is_object = False
    arguments = call.arguments if is_object else orjson.dumps({"unreadable": call.arguments}).decode()
    fields = load_fields(call.server_fields)
    function = {"name": call.name, "arguments": arguments} | fields.get("function", {})
    return fields | {"id": ids.get(call.id, call.id), "type": "function", "function": function}


def _build_tool(tool: Tool, without: Dialect) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": _build_schema(inline_refs(tool.parameters), without),
    }
    if without.isdisjoint(("strict", "additionalProperties")) and _is_closed(function["parameters"]):
        # Without it, vLLM accepts any JSON as arguments, even if a call is required.
        function["strict"] = True
    return {"type": "function", "function": function}


def _build_schema(schema: Any, without: Dialect, keep: Container[str] = ()) -> Any:
    strict = make_strict(schema, keep)
    return _allow_properties(strict) if "additionalProperties" in without else strict


def _allow_properties(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_allow_properties(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _allow_properties(value)
        for key, value in schema.items()
        if key != "additionalProperties" or value is not False
    }


def _is_closed(schema: Any) -> bool:
    """Return whether the schema names all properties of its objects. OpenAI refuses others in strict mode."""
    if isinstance(schema, list):
        return all(map(_is_closed, schema))
    if not isinstance(schema, dict):
        return True
    return (schema.get("type") != "object" or "properties" in schema) and all(map(_is_closed, schema.values()))


def _build_format(output: Schema, without: Dialect) -> dict[str, Any]:
    # Control characters in a call's texts do no harm, since it is read leniently, but the texts must end.
    keep = ("maxLength",) if output.name == text_tools.CALL else ()
    form: dict[str, Any] = {"name": output.name, "schema": _build_schema(inline_refs(output.body), without, keep)}
    if without.isdisjoint(("strict", "additionalProperties")):
        form["strict"] = True
    return {"type": "json_schema", "json_schema": form}


def make_strict(schema: Any, keep: Container[str] = ()) -> Any:
    """Return the schema for strict mode: closed objects, all properties required, no defaults and no lengths.

    Lengths are removed because, with them, xgrammar allows control characters in strings. Keywords in `keep` stay.
    """
    if isinstance(schema, list):
        return [make_strict(part, keep) for part in schema]
    if not isinstance(schema, dict):
        return schema
    tree: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            tree[key] = {name: make_strict(part, keep) for name, part in value.items()}
        elif key in keep or key not in _UNSTRICT:
            tree[key] = make_strict(value, keep)
    if isinstance(properties := schema.get("properties"), dict):
        tree |= {"required": list(properties), "additionalProperties": False}
    return tree
