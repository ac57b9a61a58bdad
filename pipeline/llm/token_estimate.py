"""About how many tokens a text or a request has, by which requests are cut, rates kept and missing counts filled in.

It rests on the text alone and never on what a server says, so that the same conversation is always cut at the same
place.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from math import ceil

import orjson

from pipeline.llm.base import Tool
from pipeline.types import Message

_LETTERS = 3.5
"""ASCII characters to a token: English text has about four, ids and JSON fewer."""
_EACH = 8
"""Tokens that a message takes besides its text."""


def tokens(text: str) -> int:
    """About the tokens of a text. A character beyond ASCII counts as one."""
    letters = len(text.encode("ascii", "ignore"))
    return ceil(letters / _LETTERS) + len(text) - letters


def shared_prefix(
    previous: Sequence[Message], messages: Sequence[Message], tools: Sequence[Tool] = (), *, thoughts: bool = False
) -> float:
    """Return about which share of a request the previous one of its conversation begins with too.

    The tools come first and never change within a conversation. Without a previous request nothing is shared.
    """
    if not previous:
        return 0.0
    same = takewhile(lambda pair: pair[0] == pair[1], zip(previous, messages, strict=False))
    shared = [message for message, _ in same]
    return size(shared, tools, thoughts=thoughts) / size(messages, tools, thoughts=thoughts)


def size(messages: Iterable[Message], tools: Sequence[Tool] = (), *, thoughts: bool = False) -> int:
    """About the tokens of a request. What a model thought counts only if its `thoughts` are sent back."""
    texts = (
        "".join((m.content, *(call.name + call.arguments for call in m.tool_calls), m.reasoning if thoughts else ""))
        for m in messages
    )
    offered = sum(tokens(orjson.dumps(tool.model_dump()).decode()) for tool in tools)
    return offered + sum(tokens(text) + _EACH for text in texts)
