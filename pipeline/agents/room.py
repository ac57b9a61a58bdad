"""How large a request is, and what makes room in a conversation that has grown too large."""

from collections.abc import Iterable, Sequence
from math import ceil

import orjson

from pipeline.agents.calls import AgentState
from pipeline.llm.base import Tool
from pipeline.types import Message

_LETTERS = 3.5
"""ASCII characters to a token: English text has about four, ids and JSON fewer."""
_EACH = 8
"""Tokens that a message takes besides its text."""


def tokens(text: str) -> int:
    """About the tokens of a text. It rests on the text alone and never on what a server says, so that the same
    conversation is always cut at the same place. A character beyond ASCII counts as one."""
    letters = len(text.encode("ascii", "ignore"))
    return ceil(letters / _LETTERS) + len(text) - letters


def size(messages: Iterable[Message], tools: Sequence[Tool] = ()) -> int:
    """About the tokens of a request. What a model thought is not sent back, and so not counted."""
    texts = (m.content + "".join(call.name + call.arguments for call in m.tool_calls) for m in messages)
    offered = sum(tokens(orjson.dumps(tool.model_dump()).decode()) for tool in tools)
    return offered + sum(tokens(text) + _EACH for text in texts)


def cut(state: AgentState, tools: Sequence[Tool], room: int) -> None:
    """Cut what searches showed, the oldest first, until the request takes half of the room: ids and titles remain.

    What the last turn found has not been read yet: it is cut only as far as the request would not fit otherwise.
    """
    left = size(state.messages, tools)
    last = max((n for n, message in enumerate(state.messages) if message.role == "assistant"), default=0)
    for place, message in enumerate(state.messages):
        if left <= (room // 2 if place < last else room):
            return
        if message.role == "tool" and (shown := state.observed.pop(message.tool_call_id, ())):
            names = "; ".join(f"[{passage.shown_id}] {' '.join(passage.title.split())}" for passage in shown)
            short = message.model_copy(update={"content": f"Cut to save room; open an id to read it again: {names}"})
            left += tokens(short.content) - tokens(message.content)
            state.messages[place] = short
