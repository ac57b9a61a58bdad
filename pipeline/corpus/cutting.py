"""Cut documents into passages of about 100 words, on sentence boundaries, in any script.

Parts have equal length, so that no short remainder is left at the end. A document of several lines is cut between
paragraphs if one ends near enough, and never after a heading, so that a passage begins with its subject.
"""

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise

from pipeline.text import HAN, THAI, Span, sentences
from pipeline.text.scripts import has_german_date, is_foreign, is_spaceless, may_end_at_mark
from pipeline.types import Document, Passage

PLAIN, OTHERS, LINES, MARKED, UNCUT = 1, 2, 3, 4, 5
"""By which rules a text is cut: those of German dates and of scripts other than the Latin one, those of several lines,
those of sentences that begin with a capital letter such as Ö or stand in quotation marks that are not English; or that
it is not cut at all.
The highest of a corpus is part of its fingerprint: give a rule a new number whenever a text would be cut otherwise by
it, by a change in `sentences` too."""

WORDS = 100
_LONGEST = 200
_WORD_LENGTH = 40
_WORD = re.compile(rf"[{HAN}]{{1,2}}|[{THAI}]{{1,5}}|[^\s{HAN}{THAI}]{{1,{_WORD_LENGTH}}}")
"""What counts as a word; a longer run counts as several, as many as it has on the whole in scripts without blanks."""


_CLOSED = re.compile(r"[.!?;…。！？｡؟۔।॥።][\"'”’»)\]」』]*$")
_ITEM = re.compile(r"[-*•|–]\s|\d+[.)]\s|[^\s:：][^:：\n]{0,80}(?::[ \t]|：)\S")
"""A line that is complete by itself: an item of a list, or a name with its value."""
_UNNAMED = re.compile(
    r"(?:He|She|It|They|We|This|That|These|Those|Such|Both|Most|Some|Many|Others?|His|Her|Its|Their|Here|There)\b"
)
"""A sentence that begins like this refers to the subject of the previous one."""
_SENTENCE, _LINE, _UNCLEAR, _TIED, _FAR, _HEADING = 16, 4, 8, 45, 50, 15
"""In words. How much nearer to its ideal place a cut must lie to be as good as one between two paragraphs, if it lies
between two sentences, between two lines, before what names no subject or after a heading; how far a cut may lie from
that place; and the longest heading."""


def rules(text: str) -> int:
    """Return the number of the rules that cut a text."""
    if may_end_at_mark(text):
        return MARKED
    return LINES if _has_lines(text) else OTHERS if is_foreign(text) or has_german_date(text) else PLAIN


def _has_lines(text: str) -> bool:
    return "\n" in text.strip()


def passages(document: Document) -> list[Passage]:
    return [passage(document, number, span) for number, span in enumerate(spans(document))]


def spans(document: Document, *, uncut: bool = False) -> list[Span]:
    """Return the ranges of a document's passages, in code points of `stored`. None includes the title.

    If `uncut` is set, the document is one passage.
    """
    body = len(document.title) + 1
    if uncut:
        return [Span(body, body + len(document.text))]
    return [Span(body + start, body + end) for start, end in _cut(document.text)]


def passage(document: Document, number: int, span: Span) -> Passage:
    body = len(document.title) + 1
    return Passage(
        id=f"{document.id}#{number}",
        document_id=document.id,
        title=document.title,
        text=document.text[span.start - body : span.end - body],
        start=span.start,
        end=span.end,
        date=document.date,
        source=document.source,
    )


def _cut(text: str) -> list[Span]:
    pieces = [(span, length) for sentence in sentences(text) for span, length in _split_long(text, sentence)]
    total = sum(length for _, length in pieces)
    parts = max(1, round(total / WORDS))
    if parts > 1 and _has_lines(text):
        return _cut_lines(text, pieces, parts)
    cuts: dict[int, Span] = {}
    words_before = 0
    for span, length in pieces:
        part = int((words_before + length / 2) * parts / total)  # the part that contains the middle of the piece
        cuts[part] = Span(cuts.get(part, span).start, span.end)
        words_before += length
    return list(cuts.values())


def _cut_lines(text: str, pieces: list[tuple[Span, int]], parts: int) -> list[Span]:
    """Cut a text of several lines. Each cut is at the best place near the one that makes equal parts."""
    ends = [0, *accumulate(length for _, length in pieces)]
    cuts = {0, len(pieces)}
    for number in range(1, parts):
        ideal = number * ends[-1] / parts
        first, last = bisect_left(ends, ideal - _FAR), bisect_right(ends, ideal + _FAR)
        # Include at least one index on each side, since a piece may be longer than that distance.
        candidates = range(max(0, first - 1), min(len(ends), last + 1))
        cuts.add(min(candidates, key=lambda index: abs(ends[index] - ideal) + _cost(text, pieces, index)))
    return [Span(pieces[start][0].start, pieces[end - 1][0].end) for start, end in pairwise(sorted(cuts))]


def _cost(text: str, pieces: list[tuple[Span, int]], index: int) -> int:
    """Return how much worse a cut before a piece is than one between two paragraphs."""
    if index in (0, len(pieces)):
        return _SENTENCE
    (before, length), (after, _) = pieces[index - 1], pieces[index]
    unclear_cost = _UNCLEAR if _UNNAMED.match(text, after.start) else 0
    ends = text.count("\n", before.end, after.start)
    if not ends:
        return _SENTENCE + unclear_cost
    end = text[max(before.start, before.end - 8) : before.end]
    closed, item = _CLOSED.search(end), _ITEM.match(text, before.start)
    is_own_line = index == 1 or "\n" in text[pieces[index - 2][0].end : before.start]
    if end[-1] in ":：" or (is_own_line and length <= _HEADING and not item and (not closed or end[-1] in "?？")):
        return _TIED
    if ends > 1:
        return unclear_cost
    return _LINE + unclear_cost if closed or _ITEM.match(text, after.start) else _TIED


def _split_long(text: str, sentence: Span) -> list[tuple[Span, int]]:
    """Return a sentence with its number of words, or pieces of 100 words if it has more than 200."""
    start, end = sentence
    length = len(text[start:end].split())
    if end - start > _WORD_LENGTH * length or is_spaceless(text[start:end]):
        length = len(_WORD.findall(text, start, end))
    if length <= _LONGEST:
        return [(sentence, length)]
    words = [match.span() for match in _WORD.finditer(text, start, end)]
    parts = [words[i : i + WORDS] for i in range(0, len(words), WORDS)]
    return [(Span(part[0][0], part[-1][1]), len(part)) for part in parts]
