"""Select the passages of a document that an `open` or `find` shows.

A document may have thousands, and the context has room for a few.
"""

from collections.abc import Sequence
from math import log

from pipeline.agents.tools import OPENED
from pipeline.errors import FormatError
from pipeline.text import terms
from pipeline.types import Passage

_STEM = 4
"""A word of at least this many letters also matches longer words that begin with it."""


def window(
    passages: Sequence[Passage], opened: Passage, position: int = 0, count: int = OPENED
) -> tuple[int, list[Passage]]:
    """Return at most `count` passages of a document, and how many come before them.

    Args:
        passages: all passages of the document.
        opened: the passage to show with those around it, if there is no position.
        position: the number of the first passage to show, from 1; 0 for none.
        count: the number of passages.

    Raises:
        FormatError: the position is beyond the end.
    """
    if position > len(passages):
        raise FormatError(f"The document has {len(passages)} passages and no position {position}.")
    middle = next((i for i, passage in enumerate(passages) if passage.id == opened.id), 0)
    start = position - 1 if position else max(0, min(middle - count // 2, len(passages) - count))
    return start, list(passages[start : start + count])


def describe_position(start: int, count: int, total: int) -> str:
    end = start + count
    hint = f" Open it with position {end + 1} to read on." if end < total else ""
    return f"Passages {start + 1} to {end} of {total} of the document.{hint}"


def find(passages: Sequence[Passage], query: str, most: int) -> list[Passage]:
    """Return the passages of a document that match a query best, best first.

    Words that few of its passages hold weigh most. Only the texts count, so that all retrievers give the same.

    Raises:
        FormatError: the query has no words.
    """
    query_words = dict.fromkeys(terms(query))
    if not query_words:
        raise FormatError("There are no words to look for.")
    texts = [set(terms(passage.text)) for passage in passages]
    scores = [0.0] * len(passages)
    for word in query_words:
        matches = [n for n, text in enumerate(texts) if _holds(text, word)]
        for n in matches:
            scores[n] += log(1 + len(passages) / len(matches))
    ranked = sorted((n for n, score in enumerate(scores) if score), key=lambda n: (-scores[n], n))
    return [passages[n] for n in ranked[:most]]


def _holds(text: set[str], word: str) -> bool:
    return word in text or (len(word) >= _STEM and any(text_word.startswith(word) for text_word in text))
