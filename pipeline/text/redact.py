"""What a string must lose before a person, a terminal or a log sees it: escapes that act, marks that reorder a line,
and secrets.
"""

import re

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC and the like: titles, links
    r"|\x1b[ -/]*[0-~]?"
)
_ACTING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_ACTING_JSON = re.compile(f"[{_ACTING.pattern[1:-1]}\u2028\u2029]")
_BREAKS = re.compile(r"\r\n?|[\u2028\u2029\x85]")


def escaped(json: str) -> str:
    """The same JSON, with the code points that `clean` drops, and those that end a line, spelled as `\\uXXXX`."""
    return _ACTING_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", json)


def clean(text: str) -> str:
    """The text without escape sequences, control, bidi and surrogate code points; line ends and tabs stay."""
    return _ACTING.sub("", _BREAKS.sub("\n", _ESCAPE.sub("", text)))


_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]"
)
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_LEAST_BEGINNING = 4
_MOST_ESCAPED = 8
"""Levels of JSON within JSON that are undone."""


def without(text: str, secret: str, mark: str) -> str:
    """The cleaned text with the mark where the secret stood; the beginning of one that a cut has left at the end goes.

    Cleaning comes first: it can put a secret together that escapes had parted.
    """
    text = clean(text)
    if not secret:
        return text
    if secret not in text and secret in (bare := _UNSEEN.sub("", text)):
        text = bare
    text = text.replace(secret, mark)
    lengths = range(len(secret), _LEAST_BEGINNING - 1, -1)
    begun = next((length for length in lengths if text.endswith(secret[:length])), 0)
    return mark if disguised(text, secret) else text[: len(text) - begun]


def disguised(text: str, secret: str) -> bool:
    """Would the secret show once the text is cleaned, stripped of what cannot be seen, or read as JSON within JSON?"""
    for _ in range(_MOST_ESCAPED + 1):
        bare, cleaned = (_UNSEEN.sub("", shown) for shown in (text, clean(text)))
        if secret in bare or secret in cleaned:
            return True
        if "\\" not in cleaned:
            return False
        text = _ESCAPED.sub(_unescaped, cleaned)
    return False


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2]
