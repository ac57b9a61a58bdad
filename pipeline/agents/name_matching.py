"""Match a name in a text, also in a form that the text's language writes as one word, such as `Vessby's`.

In languages whose endings change with the case, such as Russian, Polish or Finnish, only the name itself matches.
"""

import re
from collections.abc import Iterable

from pipeline.corpus.language import language_of
from pipeline.text import SINGLE
from pipeline.text.names import contains

_TIES = rf"{SINGLE}\u0620-\u064a"
"""Characters that may touch a name without a blank."""
_GENITIVE = ("de", "da", "no", "sv", "nl")
"""Languages that add an s to a name: die Gründung Großwesels."""
_ARTICLE, _PREFIXES, _PREFIXED_ARTICLES = "ال", "وفبكل", ("وال", "فال", "بال", "كال", "لل")
"""Conjunctions and prepositions that Arabic writes before a name as one word, without the article and with it."""


def mentions(text: str, name: str) -> bool:
    """Return whether a text contains a name, by `names.contains` or in an inflected form of the text's language."""
    if contains(text, name) or not name:
        return bool(name)
    if contains(text, f"{name}s"):
        return language_of(text) in _GENITIVE
    return any(contains(text, form) for form in _arabic_forms(name))


def remove_names(text: str, names: Iterable[str]) -> str:
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(name_pattern(name), " ", text, flags=re.IGNORECASE) if name else text
    return " ".join(text.split())


def name_pattern(name: str) -> str:
    """Return a regular expression that matches a name as a whole word, with the ending of its genitive."""
    pattern = re.escape(name).replace("'", "’").replace("’", "['’]")
    return rf"(?<![^\W{_TIES}]){pattern}(?:['’]?s\b|['’])?(?![^\W{_TIES}])"


def _arabic_forms(name: str) -> list[str]:
    if not "\u0620" <= name[:1] <= "\u064a":
        return []
    if name.startswith(_ARTICLE):
        return [f"{prefix}{name.removeprefix(_ARTICLE)}" for prefix in _PREFIXED_ARTICLES]
    return [f"{prefix}{name}" for prefix in _PREFIXES]
