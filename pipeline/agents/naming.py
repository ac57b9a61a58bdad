"""When a text names something in a form of its own language, as `Vessby's` does in English.

Where endings change with the case, as in Russian, Polish or Finnish, a name must stand as it is.
"""

import re
from collections.abc import Iterable

from pipeline.corpus.language import language_of
from pipeline.text import SINGLE
from pipeline.text.names import contains

_TIES = rf"{SINGLE}\u0620-\u064a"
"""What is written on to a name without a blank."""
_GENITIVE = ("de", "da", "no", "sv", "nl")
"""An s is written on to a name: die Gründung Großwesels."""
_ARTICLE, _TIED, _TIED_ARTICLE = "ال", "وفبكل", ("وال", "فال", "بال", "كال", "لل")
"""What Arabic writes on to a name: conjunctions and prepositions, with the article or without."""


def mentions(text: str, name: str) -> bool:
    """As `names.contains`, with the forms that a language writes as one word with a name."""
    if contains(text, name) or not name:
        return bool(name)
    if contains(text, f"{name}s"):
        return language_of(text) in _GENITIVE
    return any(contains(text, form) for form in _arabic(name))


def remove_names(text: str, names: Iterable[str]) -> str:
    """The text without these names as they are written, in whatever case."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(name_pattern(name), " ", text, flags=re.IGNORECASE) if name else text
    return " ".join(text.split())


def name_pattern(name: str) -> str:
    """A pattern of the name where it is no part of a word, with the ending of its genitive."""
    written = re.escape(name).replace("'", "’").replace("’", "['’]")
    return rf"(?<![^\W{_TIES}]){written}(?:['’]?s\b|['’])?(?![^\W{_TIES}])"


def _arabic(name: str) -> list[str]:
    if not "\u0620" <= name[:1] <= "\u064a":
        return []
    if name.startswith(_ARTICLE):
        return [f"{tied}{name.removeprefix(_ARTICLE)}" for tied in _TIED_ARTICLE]
    return [f"{tied}{name}" for tied in _TIED]
