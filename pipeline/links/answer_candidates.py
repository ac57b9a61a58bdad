"""What a passage says that an answer may be, and how many passages say such a thing in such words.

An end is a number, a date or a name after two words, as in "was born in 1908". Where a script has no capital letters, a
phrase that links documents stands for a name; and a character for a word, where it has no blanks. Where many passages
have the same two words before such a thing, a search for the words does not lead to the passage.
"""

from pipeline.links.sorted_tables import find
from pipeline.links.stored import StoredLinks
from pipeline.links.survey import contexts
from pipeline.links.tokens import Words, words
from pipeline.types import Data


class End(Data):
    text: str
    start: int
    end: int
    """Code points of the passage's text."""
    words: str
    """The two words before it."""
    passages: int
    """That have a thing of the same kind after these words."""


def ends(links: StoredLinks, place: int) -> list[End]:
    """The ends of a passage, of which so many passages are known; the most common first."""
    text = links.passage(place).text
    read = words([text])
    if len(read) < 3:
        return []
    phrases, found = {start: (end, kind) for start, end, kind in links.spans(place)}, list[End]()
    # A rare run of characters may be a part of a longer word.
    within = {*read.start[1:][read.single[1:] & read.single[:-1] & (read.start[1:] == read.end[:-1])].tolist()}
    hashes, at = contexts(read)
    rows = find(links.ends["hash"], hashes)
    for first, row in zip(at[rows >= 0].tolist(), rows[rows >= 0].tolist(), strict=True):
        start = int(read.start[first])
        named = read.cased[first] or read.digits[first]
        end, kind = (_end(text, read, first), "") if named else phrases.get(start, (0, ""))
        if end and not (kind == "word" and within & {start, end}):
            before = text[int(read.start[first - 2]) : int(read.end[first - 1])]
            count = int(links.ends["documents"][row])
            found.append(End(text=text[start:end], start=start, end=end, words=before, passages=count))
    return sorted(found, key=lambda end: (-end.passages, end.start))


def _end(text: str, read: Words, last: int) -> int:
    """Where the number or the name ends that begins with this word."""
    number = read.digits > 0
    while last + 1 < len(read) and (
        (read.near[last + 1] and (read.capital[last + 1] or number[last + 1])) or _grouped(text, read, last)
    ):
        last += 1
    return int(read.end[last])


def _grouped(text: str, read: Words, at: int) -> bool:
    """Is the next word a part of the same number, as in 78,438?"""
    mark = text[int(read.end[at]) : int(read.start[at + 1])]
    return mark in {",", "."} and bool(read.digits[at] and read.digits[at + 1])
