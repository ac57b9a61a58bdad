"""Find the names and numbers of a query that nothing has shown before, which a model must have recalled."""

import re
from collections.abc import Iterable, Set

from pipeline.text import fold, is_plain_english

_WORD = re.compile(r"\d[\d.,]*(?!\w)|[^\W_]+")
_LINKS = frozenset({"of", "and", "the"})
"""Words of a name that its abbreviation omits."""
_SHORTEST_STEM = 4
_LONGEST_ENDING = 3


def unshown_words(query: str, shown_texts: Iterable[str], later: Iterable[str]) -> list[str]:
    """Return the capitalised words and numbers of a query that no shown text holds.

    Args:
        query: the query.
        shown_texts: the texts that were shown before the search.
        later: texts shown afterwards. A word in lower case in any text, or in plain English, is no name even if the
            query capitalises it.
    """
    texts = list(shown_texts)
    shown_words = [word for text in texts for word in _WORD.findall(text)]
    all_words = {*shown_words, *(word for text in later for word in _WORD.findall(text))}
    lower = {fold(word) for word in all_words if word[0].islower()}
    stems = {stem for word in set(shown_words) for stem in _possible_stems(_fold_word(word))}
    unshown = [
        word
        for word in _WORD.findall(query)
        if _is_name_or_number(word, lower) and _stem(_fold_word(word)) not in stems
    ]
    written_out = _write_out(query, shown_words)
    return [word for word in unshown if word not in written_out and not any(_abbreviates(word, text) for text in texts)]


def _abbreviates(word: str, text: str) -> bool:
    if not (word.isalpha() and word.isupper() and word.isascii()):
        return False
    return word in "".join(name[0] for name in _WORD.findall(text) if name not in _LINKS)


def _write_out(query: str, shown_words: Iterable[str]) -> set[str]:
    """Return the words of a query that write out a shown abbreviation, as "United Arab Emirates" does "UAE"."""
    short = {word for word in shown_words if len(word) > 1 and word.isalpha() and word.isupper() and word.isascii()}
    names = [word for word in _WORD.findall(query) if word not in _LINKS]
    initials = "".join(name[0] for name in names)
    starts = ((match.start(), word) for word in short for match in re.finditer(f"(?={word})", initials))
    return {name for start, word in starts for name in names[start : start + len(word)]}


def _is_name_or_number(word: str, lower: Set[str]) -> bool:
    if any(map(str.isdigit, word)):
        return True
    return len(word) > 1 and word[0].isupper() and fold(word) not in lower and not is_plain_english(word)


def _fold_word(word: str) -> str:
    return re.sub(r"\D", "", word) if word[0].isdigit() and not word[-1].isalpha() else fold(word)


def _stem(word: str) -> str:
    """Return a word without its ending, so that "Swedish" and "Sweden" are alike; a number keeps all its digits."""
    return word if any(map(str.isdigit, word)) else word[: max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)]


def _possible_stems(word: str) -> list[str]:
    if any(map(str.isdigit, word)) or len(word) <= _SHORTEST_STEM:
        return [word]
    return [word[:end] for end in range(_SHORTEST_STEM, len(word) + 1)]
