"""How a text is written, in whatever script: its length, its question marks, what it has instead of blanks."""

import re

from pipeline.text import HAN, SINGLE, THAI

_HANS, _THAIS = re.compile(f"[{HAN}]"), re.compile(f"[{THAI}]")
_SPLIT = re.compile(f"[{SINGLE}]")
_NOT_LATIN = re.compile("[\u0370-\u1dff\u2e80-\ufe1f\ufe70-\ufefc\uff66-\uffdc\U00010000-\U0003ffff]")
_MONATSTAG = re.compile(r"\d\. (?:Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b")
_QUESTION = re.compile(
    rf"[?？؟\u037e՞፧⁇⁈⁉︖﹖][\"'”’»)\]」』）\s]*$|か[。．]?\s*$|[{THAI}]\W*$|[\u0370-\u03ff][\"'”’»)\]]*;\s*$"
)


def spaced(text: str) -> str:
    """The text with blanks around each character that `words` takes for a word."""
    return text if text.isascii() else _SPLIT.sub(r" \g<0> ", text)


def length(text: str) -> int:
    """How many words it has, about: a word is two characters of Chinese or Japanese, or five of Thai."""
    count = len(text.split())
    if text.isascii():
        return count
    return count + len(_HANS.findall(text)) // 2 + len(_THAIS.findall(text)) // 5


def spaceless(text: str) -> bool:
    """Is it written without blanks between words, for the most part?"""
    return not text.isascii() and 3 * (len(_HANS.findall(text)) + len(_THAIS.findall(text))) > len(text)


def foreign(text: str) -> bool:
    """Is it written in another script than the Latin one, for the most part?"""
    return not text.isascii() and 3 * len(_NOT_LATIN.findall(text)) > len(text)


def ordinals(text: str) -> bool:
    """Does it hold a German date, at whose point no sentence ends?"""
    return _MONATSTAG.search(text) is not None


def asks(text: str) -> bool:
    """Does it end as a question does: with the question mark of its script, or without one in Thai?"""
    return _QUESTION.search(text) is not None
