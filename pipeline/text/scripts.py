"""Properties of a text in any script: its length, its question marks, its way to separate words.

These functions are not in `text`, which is all that the demo model may use.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from pipeline.text import HAN, LATIN, SINGLE, THAI, trim_lines

_HANS, _THAIS = re.compile(f"[{HAN}]"), re.compile(f"[{THAI}]")
_SPLIT = re.compile(f"[{SINGLE}]")
_NOT_LATIN = re.compile("[\u0370-\u1dff\u2e80-\ufe1f\ufe70-\ufefc\uff66-\uffdc\U00010000-\U0003ffff]")
_MONATSTAG = re.compile(r"\d\. (?:Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b")
_MARKED_END = re.compile(rf"[.!?][\"'”“’»)\]]*[^\S\n]+[\"'“‘(\[]*[„«»¿¡{LATIN}]|[.!?][\"'”’)\]]*[“»]")
_DIGIT = re.compile(r"[^\D0-9]")
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_WORD = 10
"""The length of a word; a character of Chinese or Japanese counts 5, and one of Thai 2."""
_QUESTION = re.compile(
    rf"[?？؟\u037e՞፧⁇⁈⁉︖﹖][\"'”’»)\]」』）\s]*$|か[。．]?\s*$|[{THAI}][^\w{THAI}]*$"
    r"|\u055e[^\u055e\u0589:]*+[\u0589:]*+[^\w\u055e\u0589:]*+$|[\u0370-\u03ff][\"'”’»)\]]*;\s*$"
)


def lay_out(text: str) -> str:
    """Apply `text.trim_lines` to each paragraph, so that no heading is joined to the text below it."""
    return "\n".join(filter(None, map(trim_lines, _PARAGRAPH_END.split(text))))


def space_out(text: str) -> str:
    return text if text.isascii() else _SPLIT.sub(r" \g<0> ", text)


def length(text: str) -> int:
    """Estimate the number of words; a word is two characters of Chinese or Japanese, or five of Thai."""
    count = len(text.split())
    if text.isascii():
        return count
    return count + len(_HANS.findall(text)) // 2 + len(_THAIS.findall(text)) // 5


def runs(words: Sequence[str], count: int) -> Iterator[Sequence[str]]:
    """Yield all runs of neighbouring words that are as long as `count` words of English.

    Args:
        words: the output of `text.words`.
    """
    sizes = [_WORD // 2 if _HANS.match(word) else _WORD // 5 if _THAIS.match(word) else _WORD for word in words]
    end = size = 0
    for start in range(len(words)):
        while size < _WORD * count:
            if end == len(words):
                return
            size += sizes[end]
            end += 1
        yield words[start:end]
        size -= sizes[start]


def is_spaceless(text: str) -> bool:
    return not text.isascii() and 3 * (len(_HANS.findall(text)) + len(_THAIS.findall(text))) > len(text)


def is_foreign(text: str) -> bool:
    return not text.isascii() and 3 * len(_NOT_LATIN.findall(text)) > len(text)


def has_case(text: str) -> bool:
    return text.isascii() or 2 * sum(map(_has_case, text)) > sum(c.isalpha() for c in text)


def _has_case(character: str) -> bool:
    # Unicode calls Georgian letters small ones, but Georgian names do not begin with a capital.
    return (character.isupper() or character.islower()) and not "\u10d0" <= character <= "\u10ff"


def ascii_digits(text: str) -> str:
    return text if text.isascii() else _DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text)


def has_german_date(text: str) -> bool:
    return _MONATSTAG.search(text) is not None


def may_end_at_mark(text: str) -> bool:
    """Return whether a sentence may end before a capital letter with a mark, or at a foreign quotation mark."""
    return not text.isascii() and _MARKED_END.search(text) is not None


def is_question(text: str) -> bool:
    """Return whether the text ends as a question does in its script.

    In Armenian the question mark is inside a word of the last sentence; Thai needs none.
    """
    return _QUESTION.search(text) is not None
