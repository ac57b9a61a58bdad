"""A conversation with tools as text, for servers without tool support; `written_calls` reads what is answered.

The form is that of Qwen and Hermes, which most open models know: `<tool_call>{"name": ..., "arguments": {...}}
</tool_call>`. Messages stay append-only in it, so that servers can cache prefixes.
"""

from collections.abc import Iterable, Sequence

import orjson

from pipeline.llm.base import Tool
from pipeline.llm.schemas import inlined
from pipeline.types import Message

_GUIDE = """You have these tools:
{tools}

To call one, write exactly this and nothing after it:
<tool_call>{{"name": "NAME", "arguments": {{...}}}}</tool_call>"""


def as_text(messages: Sequence[Message], tools: Iterable[Tool], choice: str) -> list[Message]:
    """The conversation without tools: the system prompt describes them, calls and results are text."""
    schemas = [{"name": t.name, "description": t.description, "parameters": inlined(t.parameters)} for t in tools]
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
