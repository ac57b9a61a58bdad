"""What a string must lose before a person, a terminal or a log sees it: escapes that act, marks that reorder a line."""

import re

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC and the like: titles, links
    r"|\x1b[ -/]*[0-~]?"
)
_ACTING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_BREAKS = re.compile(r"\r\n?|[\u2028\u2029\x85]")


def clean(text: str) -> str:
    """The text without escape sequences, control, bidi and surrogate code points; line ends and tabs stay."""
    return _ACTING.sub("", _BREAKS.sub("\n", _ESCAPE.sub("", text)))
