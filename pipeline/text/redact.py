"""Removal of escape sequences, bidi marks and secrets from text that a person, a terminal or a log will see."""

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


def escape_json(json: str) -> str:
    """Return equal JSON in which line ends and the code points that `clean` drops are spelled as `\\uXXXX`."""
    return _ACTING_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", json)


def clean(text: str) -> str:
    """Return the text without escape sequences, control, bidi and surrogate code points; line ends and tabs stay."""
    return _ACTING.sub("", _BREAKS.sub("\n", _ESCAPE.sub("", text)))


_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]"
)
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_LEAST_BEGINNING = 4
_MOST_ESCAPED = 8
"""Levels of JSON within JSON in which a secret is looked for."""


def remove_secret(text: str, secret: str, mark: str) -> str:
    """Return the cleaned text with `mark` in place of the secret, and without a beginning of the secret at its end.

    A cut may have left such a beginning. Cleaning comes first, because it can reassemble a secret split by escapes.
    """
    text = clean(text)
    if not secret:
        return text
    if secret not in text and secret in (bare := _UNSEEN.sub("", text)):
        text = bare
    text = text.replace(secret, mark)
    lengths = range(len(secret), _LEAST_BEGINNING - 1, -1)
    beginning = next((length for length in lengths if text.endswith(secret[:length])), 0)
    return mark if is_disguised(text, secret) else text[: len(text) - beginning]


def is_disguised(text: str, secret: str) -> bool:
    """Return whether the secret would show after cleaning, without invisible characters, or as JSON within JSON."""
    for _ in range(_MOST_ESCAPED + 1):
        bare, cleaned = (_UNSEEN.sub("", version) for version in (text, clean(text)))
        if secret in bare or secret in cleaned:
            return True
        if "\\" not in cleaned:
            return False
        text = _ESCAPED.sub(_unescape, cleaned)
    return False


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2]
