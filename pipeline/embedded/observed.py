"""How the embedded model reads the passages in a tool message: the inverse of `agents.tools.render`."""

import re
from typing import NamedTuple

_PASSAGE = re.compile(r"Doc \d+ \[(p[0-9a-f]{12})\] ([^\n]*)\n(.*)", re.DOTALL)


class Seen(NamedTuple):
    """A passage as an agent saw it."""

    id: str
    title: str
    text: str


def seen(observation: str) -> list[Seen]:
    """The passages of one observation, in order; empty where it holds an error text."""
    return [Seen(*match.groups()) for match in map(_PASSAGE.fullmatch, observation.split("\n\n")) if match]
