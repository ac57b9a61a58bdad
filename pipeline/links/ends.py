"""What a passage says that an answer may be, and how many documents say such a thing in such words.

An end is a number, a date or a name after two words, as in "was born in 1908". Where many documents have the same two
words before such a thing, a search for the words does not lead to the passage.
"""

from pipeline.links.sorted_tables import Columns, find
from pipeline.links.survey import contexts
from pipeline.links.tokens import Words, words
from pipeline.types import Data, Passage


class End(Data):
    text: str
    start: int
    end: int
    """Code points of the passage's text."""
    words: str
    """The two words before it."""
    documents: int
    """That have a thing of the same kind after these words."""


def ends(passage: Passage, known: Columns) -> list[End]:
    """The ends of a passage, of which so many documents are known; the most common first."""
    read = words([passage.text])
    if len(read) < 3:
        return []
    hashes, _, at = contexts(read)
    rows = find(known["hash"], hashes)
    found = [
        _end(passage, read, int(place), int(known["documents"][row]))
        for place, row in zip(at.tolist(), rows.tolist(), strict=True) if row >= 0
    ]  # fmt: skip
    return sorted(found, key=lambda end: (-end.documents, end.start))


def _end(passage: Passage, read: Words, first: int, documents: int) -> End:
    last, number = first, read.digits > 0
    while last + 1 < len(read) and (
        (read.near[last + 1] and (read.capital[last + 1] or number[last + 1])) or _grouped(passage.text, read, last)
    ):
        last += 1
    start, end = int(read.start[first]), int(read.end[last])
    before = passage.text[int(read.start[first - 2]) : int(read.end[first - 1])]
    return End(text=passage.text[start:end], start=start, end=end, words=before, documents=documents)


def _grouped(text: str, read: Words, at: int) -> bool:
    """Is the next word a part of the same number, as in 78,438?"""
    mark = text[int(read.end[at]) : int(read.start[at + 1])]
    return mark in {",", "."} and bool(read.digits[at] and read.digits[at + 1])
