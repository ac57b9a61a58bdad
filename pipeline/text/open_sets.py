"""Detection of names that a sentence gives only as examples."""

import re
from collections.abc import Iterable

from pipeline.text import sentences

_OPENS = re.compile(
    r"\b(?:such as|including|for example|for instance|e\.\s?g\.|among them"
    r"|z\.\s?B\.|zum Beispiel|beispielsweise|darunter|wie etwa"
    r"|tels? que|telles? que|par exemple|notamment|tales como|como por ejemplo|por ejemplo|incluyendo)(?!\w)",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\b(?:among(?:st)? others|and others|and more|and so on|and so forth|etc\b|among (?:many )?other"
    r"|unter anderem|u\.\s?a\.|usw\b|und andere|entre autres|entre otr[oa]s)",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[;)]")
_NEAR = 160
"""The longest distance, in characters, between such words and a name that they refer to."""


def names_as_example(text: str, names: Iterable[str]) -> str:
    """Return the words by which a text marks one of the names as an example ("such as", "among others"), if any.

    Names must be spelled exactly, but upper and lower case are equal.
    """
    patterns = [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE) for name in names if name.strip()]
    for start, end in sentences(text):
        sentence = text[start:end]
        for match in (match for pattern in patterns for match in pattern.finditer(sentence)):
            before = _PARTS.split(sentence[: match.start()])[-1][-_NEAR:]
            after = _PARTS.split(sentence[match.end() :])[0][:_NEAR]
            if cue := _OPENS.search(before) or _CLOSES.search(after):
                return cue[0]
    return ""
