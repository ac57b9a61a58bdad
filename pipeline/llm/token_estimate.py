"""Estimates of the tokens of a text or request, to cut requests, to limit rates and to fill in missing counts.

They depend on the text alone and never on a server's counts, so that a conversation is always cut at the same place.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from math import ceil

import orjson

from pipeline.llm.base import Tool
from pipeline.types import Message

_LETTERS = 3.5
"""ASCII characters per token: English text has about four, ids and JSON fewer."""
_PER_MESSAGE = 8
"""Tokens of a message besides its text."""


def tokens(text: str) -> int:
    """Estimate the tokens of a text. A character beyond ASCII counts as one."""
    letters = len(text.encode("ascii", "ignore"))
    return ceil(letters / _LETTERS) + len(text) - letters


def shared_prefix(
    previous: Sequence[Message], messages: Sequence[Message], tools: Sequence[Tool] = (), *, thoughts: bool = False
) -> float:
    """Estimate the share of a request that is a prefix of the previous request of its conversation too.

    The tools come first and never change within a conversation. Returns 0 if there is no previous request.
    """
    if not previous:
        return 0.0
    equal_pairs = takewhile(lambda pair: pair[0] == pair[1], zip(previous, messages, strict=False))
    shared = [message for message, _ in equal_pairs]
    return size(shared, tools, thoughts=thoughts) / size(messages, tools, thoughts=thoughts)


def size(messages: Iterable[Message], tools: Sequence[Tool] = (), *, thoughts: bool = False) -> int:
    """Estimate the tokens of a request. Reasoning counts only if `thoughts` are sent back."""
    texts = (
        "".join((m.content, *(call.name + call.arguments for call in m.tool_calls), m.reasoning if thoughts else ""))
        for m in messages
    )
    tool_tokens = sum(tokens(orjson.dumps(tool.model_dump()).decode()) for tool in tools)
    return tool_tokens + sum(tokens(text) + _PER_MESSAGE for text in texts)
