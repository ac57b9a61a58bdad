"""A conversation with tools as text, for models and servers without tool calls.

`text`: a call has the form of Qwen and Hermes, which most open models know, `<tool_call>{"name": ..., "arguments":
{...}}</tool_call>`, and `written_calls` reads it. `schema`: a turn is that object alone, and the server is asked to let
nothing else through. Results are messages of the user in both. Messages stay append-only, so that servers can cache
prefixes. The one exception is at the end of a request that forces a call: its last message says so, and later ones do
not repeat that.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from pipeline.llm.base import Request, Schema, Tool
from pipeline.llm.conversation_shape import join_users
from pipeline.llm.schemas import inlined, read_json, skeleton, written
from pipeline.llm.written_calls import Offered
from pipeline.types import Message, ToolCall

CALL = "call"
"""The name of the schema of a call."""
LONGEST = 300
"""Letters of a query, an id or an answer that is asked for by schema."""
_TEXT = """You have these tools:
{tools}

To call one, write exactly this and nothing after it:
<tool_call>{{"name": "NAME", "arguments": {{...}}}}</tool_call>"""
_SCHEMA = """You have these tools:
{tools}

Write each time one JSON object and nothing else, which calls one of them:
{examples}"""


def without_tools(request: Request, *, constrained: bool) -> Request:
    """The request with its tools in the conversation. In the mode `schema` its output is a call of one of them, or of
    the one that is chosen, where the server can be `constrained` to that."""
    tools, choice = request.tools, request.tool_choice
    messages = tuple(as_text(request.messages, tools, choice, objects=request.calls == "schema"))
    told: dict[str, Any] = {"messages": messages, "tools": ()}
    if request.calls == "schema" and constrained and choice != "none":
        told["output"] = call_schema([tool for tool in tools if tool.name == choice] or tools)
    return request.model_copy(update=told)


def call_schema(tools: Iterable[Tool]) -> Schema:
    """The schema of a call of one of these tools: a union, which the name tells apart. A small model that is let write
    nothing but a text writes on and on: those that stand by themselves end somewhere."""
    kinds: list[dict[str, Any]] = [
        {
            "type": "object",
            "properties": {"name": {"type": "string", "const": tool.name}, "arguments": _bounded(tool)},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    return Schema(name=CALL, body=kinds[0] if len(kinds) == 1 else {"anyOf": kinds})


def _bounded(tool: Tool) -> dict[str, Any]:
    schema = inlined(tool.parameters)
    parts = schema.get("properties", {})
    if any(part.get("type") not in ("string", "integer") for part in parts.values()):
        return dict(schema)
    free = {name for name, part in parts.items() if part["type"] == "string" and "enum" not in part}
    bounded = {name: {**part, "maxLength": LONGEST} if name in free else part for name, part in parts.items()}
    return {**schema, "properties": bounded}


def sole_call(text: str, offered: Offered) -> ToolCall | None:
    """The call that a text is, and nothing else, in the form of that schema."""
    tree = read_json(text)
    if not isinstance(tree, dict) or tree.keys() != {"name", "arguments"} or not isinstance(tree["name"], str):
        return None
    name, given = tree["name"], tree["arguments"]
    return ToolCall(id="text0", name=name, arguments=written(given)) if offered.fits(name, given) else None


def example(tool: Tool, *, tagged: bool = False) -> str:
    """A right call of the tool, with dots for what the model must say; `tagged` as in the mode `text`."""
    call = f'{{"name": "{tool.name}", "arguments": {right(tool)}}}'
    return f"<tool_call>{call}</tool_call>" if tagged else call


def right(tool: Tool) -> str:
    """Arguments that the tool takes, with dots for what the model must say."""
    return orjson.dumps(skeleton(inlined(tool.parameters))).decode()


def as_text(messages: Sequence[Message], tools: Iterable[Tool], choice: str, *, objects: bool = False) -> list[Message]:
    """The conversation without tools: the system prompt describes them, calls and results are text. With `objects` a
    call is an object alone."""
    tools = list(tools)
    schemas = [{"name": t.name, "description": t.description, "parameters": inlined(t.parameters)} for t in tools]
    listed = "\n".join(orjson.dumps(schema).decode() for schema in schemas)
    form = _SCHEMA if objects else _TEXT
    guide = form.format(tools=listed, examples="\n".join(map(example, tools)))
    # The results of one turn are one message of the user.
    plain = join_users(_plain(message, objects=objects) for message in messages)
    if plain and plain[0].role == "system":
        plain[0] = plain[0].model_copy(update={"content": f"{plain[0].content}\n\n{guide}"})
    else:
        plain.insert(0, Message(role="system", content=guide))
    if choice not in ("auto", "none"):
        which = "a tool" if choice == "required" else f"`{choice}`"
        plain[-1] = plain[-1].model_copy(update={"content": f"{plain[-1].content}\n\nNow call {which}."})
    return plain


def _plain(message: Message, *, objects: bool) -> Message:
    if message.role == "tool":
        return Message(role="user", content=f"<tool_response>\n{message.content}\n</tool_response>")
    if not message.tool_calls:
        return message
    calls = [_object(call) if objects else f"<tool_call>{_object(call)}</tool_call>" for call in message.tool_calls]
    content = "\n".join(filter(None, [message.content, *calls]))
    return message.model_copy(update={"content": content, "tool_calls": ()})


def _object(call: ToolCall) -> str:
    return f'{{"name": "{call.name}", "arguments": {call.arguments or "{}"}}}'
