"""How the demo model reads the passages in a tool message: the inverse of `agents.tools.render`."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

_NAMED = re.compile(r"Doc \d+ \[(p[0-9a-f]{12})\] [^\n]*")
_PASSAGE = re.compile(r"Doc \d+ \[(p[0-9a-f]{12})\] ([^\n]*)\n(.*)", re.DOTALL)


class Seen(NamedTuple):
    """A passage as an agent saw it."""

    id: str
    title: str
    text: str


def seen(observation: str, before: Mapping[str, Seen] | None = None) -> list[Seen]:
    """The passages of one observation, in order; empty where it holds an error text. Of one that was shown before, and
    is in `before` by its id, the head stands alone."""
    blocks = observation.split("\n\n")
    return [passage for block in blocks if (passage := _seen(block) or _again(block, before or {}))]


def _again(block: str, before: Mapping[str, Seen]) -> Seen | None:
    match = _NAMED.fullmatch(block)
    return before.get(match[1]) if match else None


@lru_cache(maxsize=32768)
def _seen(shown: str) -> Seen | None:
    """One and the same object each time that the passage is shown: what is known of it is then found at once."""
    match = _PASSAGE.fullmatch(shown)
    return Seen(*match.groups()) if match else None
