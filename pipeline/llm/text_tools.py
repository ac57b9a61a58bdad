"""Conversations with tools as text, for models and servers without tool calls.

In the mode `text`, a call has the form of Qwen and Hermes, which most open models know: `<tool_call>{"name": ...,
"arguments": {...}}</tool_call>`. `written_calls` reads it. In the mode `schema`, a turn is only that object, to which
the server constrains the output. Tool results are messages of the user in both modes. Messages stay append-only, so
that servers can cache prefixes, with one exception: the last message of a request that forces a call says so, and later
requests do not repeat that.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from pipeline.llm.base import Request, Schema, Tool
from pipeline.llm.conversation_shape import join_users
from pipeline.llm.schemas import dump_json, inline_refs, read_json, skeleton
from pipeline.llm.written_calls import OfferedTools
from pipeline.types import Message, ToolCall

CALL = "call"
"""The name of the schema of a call."""
LONGEST = 300
"""Most characters of a text in a call that is constrained by a schema."""
_TEXT = """You have these tools:
{tools}

To call one, write exactly this and nothing after it:
<tool_call>{{"name": "NAME", "arguments": {{...}}}}</tool_call>"""
_SCHEMA = """You have these tools:
{tools}

Write each time one JSON object and nothing else, which calls one of them:
{examples}"""


def without_tools(request: Request, *, constrained: bool) -> Request:
    """Return the request with its tools described in the conversation.

    In the mode `schema`, a server that can be `constrained` gets the schema of a call of the chosen tool, or of any.
    """
    tools, choice = request.tools, request.tool_choice
    messages = tuple(tools_as_text(request.messages, tools, choice, objects=request.calls == "schema"))
    changes: dict[str, Any] = {"messages": messages, "tools": ()}
    if request.calls == "schema" and constrained and choice != "none":
        changes["output"] = call_schema([tool for tool in tools if tool.name == choice] or tools)
    return request.model_copy(update=changes)


def call_schema(tools: Iterable[Tool]) -> Schema:
    """Return the schema of a call of one of these tools: a union, which the name discriminates.

    Texts have a maximum length where the tool allows it, since a small model that is constrained to a text may never
    end it.
    """
    kinds: list[dict[str, Any]] = [
        {
            "type": "object",
            "properties": {"name": {"type": "string", "const": tool.name}, "arguments": _limit_texts(tool)},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    return Schema(name=CALL, body=kinds[0] if len(kinds) == 1 else {"anyOf": kinds})


def _limit_texts(tool: Tool) -> dict[str, Any]:
    schema = inline_refs(tool.parameters)
    properties = schema.get("properties", {})
    if any(part.get("type") not in ("string", "integer") for part in properties.values()):
        return dict(schema)
    limited = {
        name: {**part, "maxLength": LONGEST} if part["type"] == "string" and "enum" not in part else part
        for name, part in properties.items()
    }
    return {**schema, "properties": limited}


def parse_call(text: str, tools: OfferedTools) -> ToolCall | None:
    """Return the call if the text is nothing but a call in the form of `call_schema`."""
    tree = read_json(text)
    if not isinstance(tree, dict) or tree.keys() != {"name", "arguments"} or not isinstance(tree["name"], str):
        return None
    name, arguments = tree["name"], tree["arguments"]
    return ToolCall(id="text0", name=name, arguments=dump_json(arguments)) if tools.fits(name, arguments) else None


def example(tool: Tool, *, tagged: bool = False) -> str:
    """Return an example of a valid call of the tool; `tagged` adds the tags of the mode `text`."""
    call = f'{{"name": "{tool.name}", "arguments": {example_arguments(tool)}}}'
    return f"<tool_call>{call}</tool_call>" if tagged else call


def example_arguments(tool: Tool) -> str:
    return orjson.dumps(skeleton(inline_refs(tool.parameters))).decode()


def tools_as_text(
    messages: Sequence[Message], tools: Iterable[Tool], choice: str, *, objects: bool = False
) -> list[Message]:
    """Return the conversation without tools: the system prompt describes them, and calls and results are text.

    With `objects`, a call is only a JSON object, without tags.
    """
    tools = list(tools)
    schemas = [{"name": t.name, "description": t.description, "parameters": inline_refs(t.parameters)} for t in tools]
    descriptions = "\n".join(orjson.dumps(schema).decode() for schema in schemas)
    template = _SCHEMA if objects else _TEXT
    guide = template.format(tools=descriptions, examples="\n".join(map(example, tools)))
    # Join the results of one turn into one message of the user.
    texts = join_users(_as_text(message, objects=objects) for message in messages)
    if texts and texts[0].role == "system":
        texts[0] = texts[0].model_copy(update={"content": f"{texts[0].content}\n\n{guide}"})
    else:
        texts.insert(0, Message(role="system", content=guide))
    if choice not in ("auto", "none"):
        tool_to_call = "a tool" if choice == "required" else f"`{choice}`"
        texts[-1] = texts[-1].model_copy(update={"content": f"{texts[-1].content}\n\nNow call {tool_to_call}."})
    return texts


def _as_text(message: Message, *, objects: bool) -> Message:
    if message.role == "tool":
        return Message(role="user", content=f"<tool_response>\n{message.content}\n</tool_response>")
    if not message.tool_calls:
        return message
    calls = [
        _as_object(call) if objects else f"<tool_call>{_as_object(call)}</tool_call>" for call in message.tool_calls
    ]
    content = "\n".join(filter(None, [message.content, *calls]))
    return message.model_copy(update={"content": content, "tool_calls": ()})


def _as_object(call: ToolCall) -> str:
    return f'{{"name": "{call.name}", "arguments": {call.arguments or "{}"}}}'
