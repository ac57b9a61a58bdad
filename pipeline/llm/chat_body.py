"""A request as the body of a Chat Completions call.

System prompt and tools come first and never change within a conversation, and messages are only added, so that a server
can cache the prefix. Parameters that a server refuses are left out: its `Dialect`.
"""

from collections.abc import Container
from typing import Any

import orjson

from pipeline.llm import text_tools
from pipeline.llm.base import Request, Schema, Tool
from pipeline.llm.schemas import inlined
from pipeline.types import Message, ToolCall, sha256

_UNSTRICT = ("title", "default", "maxLength", "minLength", "pattern", "format")
Dialect = frozenset[str]


def wire_seed(run_seed: int, sample: int) -> int:
    """The same for all turns and retries of one rollout; 31 bits, which every server accepts."""
    return int(sha256(f"{run_seed}:{sample}")[:8], 16) & 0x7FFFFFFF


def body(request: Request, run_seed: int, without: Dialect = frozenset()) -> dict[str, Any]:
    """The JSON of the call. Parameters in `without` are left out, or put into the prompt where needed."""
    if request.tools and (request.calls != "native" or "tools" in without):
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
        tree["tools"] = [_tool(tool, strict="strict" not in without) for tool in request.tools]
        tree["tool_choice"] = _choice(request.tool_choice)
        if not request.parallel_calls or request.tool_choice not in ("auto", "none"):
            # One call in a forced turn: vLLM's grammar would allow calls until the tokens end.
            tree["parallel_tool_calls"] = False
    if request.output:
        tree["response_format"] = _format(request.output)
    if "max_completion_tokens" in without:
        tree["max_tokens"] = sampling.max_tokens
    return (sampling.extra_body or {}) | {key: value for key, value in tree.items() if key not in without}


def _messages(request: Request, without: Dialect) -> list[dict[str, Any]]:
    messages = list(request.messages)
    if request.output and "response_format" in without:
        schema = orjson.dumps(inlined(request.output.body)).decode()
        last = messages[-1]
        asked = f"{last.content}\n\nAnswer with one JSON object of this schema and nothing else:\n{schema}"
        messages[-1] = last.model_copy(update={"content": asked})
    return [_message(message, thoughts=request.thoughts) for message in messages if not _is_empty_turn(message)]


def _is_empty_turn(message: Message) -> bool:
    """Return whether it is a model's turn without text and calls, which Moonshot and Mistral refuse."""
    return message.role == "assistant" and not message.tool_calls and not message.content.strip()


def _message(message: Message, *, thoughts: bool) -> dict[str, Any]:
    tree: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        tree["tool_calls"] = [_call(call) for call in message.tool_calls]
    if thoughts and message.reasoning:
        # vLLM reads `reasoning`, DeepSeek, SGLang and llama.cpp `reasoning_content`; each ignores the other's.
        tree |= {"reasoning": message.reasoning, "reasoning_content": message.reasoning}
    if message.role == "tool":
        tree["tool_call_id"] = message.tool_call_id
    return tree


def _call(call: ToolCall) -> dict[str, Any]:
    """llama.cpp answers 500 to a history with arguments that are not JSON."""
    try:
        good = isinstance(orjson.loads(call.arguments), dict)
    except orjson.JSONDecodeError:
        good = False
    arguments = call.arguments if good else orjson.dumps({"unreadable": call.arguments}).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _tool(tool: Tool, *, strict: bool) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": strictly(inlined(tool.parameters)),
    }
    if strict and _closed(function["parameters"]):
        # Without it vLLM accepts any JSON as arguments, even where a call is required.
        function["strict"] = True
    return {"type": "function", "function": function}


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


def _format(output: Schema) -> dict[str, Any]:
    # A call's texts are read leniently, and must end.
    kept = ("maxLength",) if output.name == text_tools.CALL else ()
    schema = {"name": output.name, "schema": strictly(inlined(output.body), kept), "strict": True}
    return {"type": "json_schema", "json_schema": schema}


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
