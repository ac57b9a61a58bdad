"""How the demo model reads the passages in a tool message: the inverse of `agents.tools.render`."""

import re
from functools import lru_cache
from typing import NamedTuple

_PASSAGE = re.compile(r"Doc \d+ \[(p[0-9a-f]{12})\] ([^\n]*)\n(.*)", re.DOTALL)


class Seen(NamedTuple):
    """A passage as an agent saw it."""

    id: str
    title: str
    text: str


def seen(observation: str) -> list[Seen]:
    """The passages of one observation, in order; empty where it holds an error text."""
    return [passage for passage in map(_seen, observation.split("\n\n")) if passage]


@lru_cache(maxsize=32768)
def _seen(shown: str) -> Seen | None:
    """One and the same object each time that the passage is shown: what is known of it is then found at once."""
    match = _PASSAGE.fullmatch(shown)
    return Seen(*match.groups()) if match else None
