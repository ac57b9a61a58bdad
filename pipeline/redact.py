"""What a string must lose before a person, a terminal or a log sees it: escapes that act, and secrets.

Corpus and model text may hold terminal escapes and marks that reorder a line; an endpoint may echo the key that it was
sent.
"""

import os
import re
from collections.abc import Iterable

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC and the like: titles, links
    r"|\x1b[ -/]*[0-~]?"
)
_ACTING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_BREAKS = re.compile(r"\r\n?|[\u2028\u2029\x85]")
_SHORTEST = 6


def clean(text: str) -> str:
    """The text without escape sequences, control, bidi and surrogate code points; line ends and tabs stay."""
    return _ACTING.sub("", _BREAKS.sub("\n", _ESCAPE.sub("", text)))


def hide(text: str, names: Iterable[str]) -> str:
    """The text with the value of each named environment variable replaced by `[NAME]`.

    Values under six characters are no secrets and would blot out common words.
    """
    values = {value: name for name in names if len(value := os.environ.get(name, "").strip()) >= _SHORTEST}
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, f"[{values[value]}]")
    return text
