"""Tool calls as text, for servers without tool support and models that write their calls as text.

The form is that of Qwen and Hermes, which most open models know: `<tool_call>{"name": ..., "arguments": {...}}
</tool_call>`. Messages stay append-only in it, so that servers can cache prefixes.
"""

from collections.abc import Iterable, Sequence

import orjson

from pipeline.llm.base import Tool
from pipeline.types import Message, ToolCall

_GUIDE = """You have these tools:
{tools}

To call one, write exactly this and nothing after it:
<tool_call>{{"name": "NAME", "arguments": {{...}}}}</tool_call>"""


def as_text(messages: Sequence[Message], tools: Iterable[Tool], choice: str) -> list[Message]:
    """The conversation without tools: the system prompt describes them, calls and results are text."""
    schemas = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in tools]
    guide = _GUIDE.format(tools="\n".join(orjson.dumps(schema).decode() for schema in schemas))
    plain = [_plain(message) for message in messages]
    if plain and plain[0].role == "system":
        plain[0] = plain[0].model_copy(update={"content": f"{plain[0].content}\n\n{guide}"})
    else:
        plain.insert(0, Message(role="system", content=guide))
    if choice not in ("auto", "none"):
        which = "a tool" if choice == "required" else f"`{choice}`"
        plain[-1] = plain[-1].model_copy(update={"content": f"{plain[-1].content}\n\nNow call {which}."})
    return plain


def _plain(message: Message) -> Message:
    if message.role == "tool":
        return Message(role="user", content=f"<tool_response>\n{message.content}\n</tool_response>")
    if not message.tool_calls:
        return message
    calls = [
        f'<tool_call>{{"name": "{c.name}", "arguments": {c.arguments or "{}"}}}</tool_call>' for c in message.tool_calls
    ]
    content = "\n".join(filter(None, [message.content, *calls]))
    return Message(role="assistant", content=content, reasoning=message.reasoning)


def parse_calls(content: str) -> tuple[str, tuple[ToolCall, ...]]:
    """The text before the first tag, and the calls that are complete."""
    text, *pieces = content.split("<tool_call>")
    calls = []
    for number, piece in enumerate(pieces):
        written, closed, _ = piece.partition("</tool_call>")
        try:
            tree = orjson.loads(written.strip()) if closed else None
        except orjson.JSONDecodeError:
            continue
        if isinstance(tree, dict) and isinstance(name := tree.get("name"), str):
            given = tree.get("arguments") or {}
            arguments = given if isinstance(given, str) else orjson.dumps(given).decode()
            calls.append(ToolCall(id=f"text{number}", name=name, arguments=arguments))
    return text.rstrip(), tuple(calls)
