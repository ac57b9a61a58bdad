"""Which passages of a document one `open` or `find` shows: a document may have thousands, and the context has room for
a few."""

from collections.abc import Sequence
from math import log

from pipeline.agents.tools import OPENED
from pipeline.errors import FormatError
from pipeline.text import terms
from pipeline.types import Passage

_STEM = 4
"""Letters from which on a word also finds the longer ones that begin with it."""


def window(passages: Sequence[Passage], opened: Passage, position: int = 0) -> tuple[int, list[Passage]]:
    """At most OPENED passages of the document, from a position on, which counts from 1, or from around the one that was
    opened; and how many stand before them. Raises FormatError for a position beyond the end."""
    if position > len(passages):
        raise FormatError(f"The document has {len(passages)} passages and no position {position}.")
    middle = next((i for i, passage in enumerate(passages) if passage.id == opened.id), 0)
    start = position - 1 if position else max(0, min(middle - OPENED // 2, len(passages) - OPENED))
    return start, list(passages[start : start + OPENED])


def describe_position(start: int, shown: int, total: int) -> str:
    """The line below what an `open` with positions shows."""
    end = start + shown
    more = f" Open it with position {end + 1} to read on." if end < total else ""
    return f"Passages {start + 1} to {end} of {total} of the document.{more}"


def find(passages: Sequence[Passage], wanted: str, most: int) -> list[Passage]:
    """The passages that hold the words best, best first: those that few passages of the document hold count most. By
    the texts alone, so that it finds the same over every retriever. Raises FormatError where there are none."""
    asked = dict.fromkeys(terms(wanted))
    if not asked:
        raise FormatError("There are no words to look for.")
    texts = [set(terms(passage.text)) for passage in passages]
    holding = {word: [n for n, text in enumerate(texts) if _holds(text, word)] for word in asked}
    scores = [0.0] * len(passages)
    for held in holding.values():
        for n in held:
            scores[n] += log(1 + len(passages) / len(held))
    ranked = sorted((n for n, score in enumerate(scores) if score), key=lambda n: (-scores[n], n))
    return [passages[n] for n in ranked[:most]]


def _holds(text: set[str], word: str) -> bool:
    return word in text or (len(word) >= _STEM and any(other.startswith(word) for other in text))
