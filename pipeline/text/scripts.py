"""How a text is written, in whatever script: its length, its question marks, what it has instead of blanks.

Apart from `text`, since that is what the demo model may know: its digest, and with it every run's, rests on each line
of `text` and on none of these.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from pipeline.text import HAN, LATIN, SINGLE, THAI, trimmed

_HANS, _THAIS = re.compile(f"[{HAN}]"), re.compile(f"[{THAI}]")
_SPLIT = re.compile(f"[{SINGLE}]")
_NOT_LATIN = re.compile("[\u0370-\u1dff\u2e80-\ufe1f\ufe70-\ufefc\uff66-\uffdc\U00010000-\U0003ffff]")
_MONATSTAG = re.compile(r"\d\. (?:Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b")
_MARKED_END = re.compile(rf"[.!?][\"'”“’»)\]]*[^\S\n]+[\"'“‘(\[]*[„«»¿¡{LATIN}]|[.!?][\"'”’)\]]*[“»]")
_DIGIT = re.compile(r"[^\D0-9]")
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_WORD = 10
"""Of which a character of Chinese or Japanese is five, and one of Thai two."""
_QUESTION = re.compile(
    rf"[?？؟\u037e՞፧⁇⁈⁉︖﹖][\"'”’»)\]」』）\s]*$|か[。．]?\s*$|[{THAI}][^\w{THAI}]*$"
    r"|\u055e[^\u055e\u0589:]*+[\u0589:]*+[^\w\u055e\u0589:]*+$|[\u0370-\u03ff][\"'”’»)\]]*;\s*$"
)


def laid_out(text: str) -> str:
    """The text as agents and readers are shown it: each paragraph as `text.trimmed` has it, so that no heading becomes
    one line with what follows it."""
    return "\n".join(filter(None, map(trimmed, _PARAGRAPH_END.split(text))))


def spaced(text: str) -> str:
    """The text with blanks around each character that `words` takes for a word."""
    return text if text.isascii() else _SPLIT.sub(r" \g<0> ", text)


def length(text: str) -> int:
    """How many words it has, about: a word is two characters of Chinese or Japanese, or five of Thai."""
    count = len(text.split())
    if text.isascii():
        return count
    return count + len(_HANS.findall(text)) // 2 + len(_THAIS.findall(text)) // 5


def runs(words: Sequence[str], count: int) -> Iterator[Sequence[str]]:
    """All runs of neighbours, of what `text.words` gives, that are together as long as so many words of English."""
    sizes = [_WORD // 2 if _HANS.match(word) else _WORD // 5 if _THAIS.match(word) else _WORD for word in words]
    end = held = 0
    for start in range(len(words)):
        while held < _WORD * count:
            if end == len(words):
                return
            held += sizes[end]
            end += 1
        yield words[start:end]
        held -= sizes[start]


def spaceless(text: str) -> bool:
    """Is it written without blanks between words, for the most part?"""
    return not text.isascii() and 3 * (len(_HANS.findall(text)) + len(_THAIS.findall(text))) > len(text)


def foreign(text: str) -> bool:
    """Is it written in another script than the Latin one, for the most part?"""
    return not text.isascii() and 3 * len(_NOT_LATIN.findall(text)) > len(text)


def cased(text: str) -> bool:
    """Has the script that it is written in capital letters, so that names can be told by them?"""
    return text.isascii() or 2 * sum(map(_has_case, text)) > sum(c.isalpha() for c in text)


def _has_case(character: str) -> bool:
    """Georgian letters are small ones by Unicode, but no name begins with a capital."""
    return (character.isupper() or character.islower()) and not "\u10d0" <= character <= "\u10ff"


def ascii_digits(text: str) -> str:
    """The text with ASCII's digits in the place of those of Arabic and others."""
    return text if text.isascii() else _DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)


def ordinals(text: str) -> bool:
    """Does it hold a German date, at whose point no sentence ends?"""
    return _MONATSTAG.search(text) is not None


def marked_ends(text: str) -> bool:
    """May a sentence end in it before a capital letter with a mark, or at a quotation mark that is not English?"""
    return not text.isascii() and _MARKED_END.search(text) is not None


def asks(text: str) -> bool:
    """Does it end as a question does: with the question mark of its script, which stands within a word of the last
    sentence in Armenian, or without one in Thai?"""
    return _QUESTION.search(text) is not None
