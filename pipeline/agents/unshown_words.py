"""Which names and numbers of a query nothing has shown before: whoever searches with them knew them."""

import re
from collections.abc import Iterable, Set

from pipeline.text import fold, is_plain_english

_WORD = re.compile(r"\d[\d.,]*(?!\w)|[^\W_]+")
_LINKS = frozenset({"of", "and", "the"})
"""Words within a name that its abbreviation leaves out."""
_SHORTEST_STEM = 4
_LONGEST_ENDING = 3


def unshown_words(query: str, shown: Iterable[str], later: Iterable[str]) -> list[str]:
    """Return the capitalised words and numbers of a query that no shown text holds.

    Args:
        query: what is searched for.
        shown: the texts that were known before the search.
        later: texts shown afterwards. A word that English or any of the texts writes small is plain, wherever a query
            capitalises it.
    """
    texts = list(shown)
    known = [word for text in texts for word in _WORD.findall(text)]
    plain = {*known, *(word for text in later for word in _WORD.findall(text))}
    small = {fold(word) for word in plain if word[0].islower()}
    stems = {stem for word in known for stem in _beginnings(_folded(word))}
    unshown = [word for word in _WORD.findall(query) if _is_telling(word, small) and _stem(_folded(word)) not in stems]
    return [word for word in unshown if not any(_abbreviates(word, text) for text in texts)]


def _abbreviates(word: str, text: str) -> bool:
    """Return whether a word in capitals stands for a name of several words, as UK does for United Kingdom."""
    if not (word.isalpha() and word.isupper() and word.isascii()):
        return False
    return word in "".join(name[0] for name in _WORD.findall(text) if name not in _LINKS)


def _is_telling(word: str, small: Set[str]) -> bool:
    """Return whether a word is a number or a name."""
    if any(map(str.isdigit, word)):
        return True
    return len(word) > 1 and word[0].isupper() and fold(word) not in small and not is_plain_english(word)


def _folded(word: str) -> str:
    return re.sub(r"\D", "", word) if word[0].isdigit() and not word[-1].isalpha() else fold(word)


def _stem(word: str) -> str:
    """Return a word without its ending, so that "Swedish" and "Sweden" are alike; a number keeps all its digits."""
    return word if any(map(str.isdigit, word)) else word[: max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)]


def _beginnings(word: str) -> list[str]:
    """Return every stem that a word may be a form of."""
    if any(map(str.isdigit, word)) or len(word) <= _SHORTEST_STEM:
        return [word]
    return [word[:end] for end in range(_SHORTEST_STEM, len(word) + 1)]
