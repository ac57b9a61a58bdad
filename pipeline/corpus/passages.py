"""Documents into passages of about 100 words, on sentence boundaries, in any script.

A document is cut into equal parts rather than filled up from the left, so that no stump of a sentence is left over.
"""

import re

from pipeline.text import HAN, THAI, Span, sentences
from pipeline.types import Document, Passage
from pipeline.writing import foreign, ordinals, spaceless

CHUNKER, CHUNKER_OF_OTHERS = "1", "2"
"""Part of every fingerprint, the second of corpora that hold German dates or scripts other than the Latin one: raise it
whenever a document would be cut otherwise, by a change in `sentences` too."""

WORDS = 100
_LONGEST = 200
_WORD_LENGTH = 40
_WORD = re.compile(rf"[{HAN}]{{1,2}}|[{THAI}]{{1,5}}|[^\s{HAN}{THAI}]{{1,{_WORD_LENGTH}}}")
"""What counts as a word; a longer run counts as several, as many as it has on the whole in scripts without blanks."""


def of_others(text: str) -> bool:
    """Does a corpus that holds this text have the second of the two fingerprints?"""
    return foreign(text) or ordinals(text)


def passages(document: Document) -> list[Passage]:
    """The passages of a document, in order."""
    return [passage(document, number, span) for number, span in enumerate(spans(document))]


def spans(document: Document) -> list[Span]:
    """Where a document is cut; offsets count code points of `stored`, the title lies outside of all."""
    body = len(document.title) + 1
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
    pieces = [(span, n) for sentence in sentences(text) for span, n in _pieces(text, sentence)]
    total = sum(n for _, n in pieces)
    parts = max(1, round(total / WORDS))
    cuts: dict[int, Span] = {}
    seen = 0
    for span, n in pieces:
        part = int((seen + n / 2) * parts / total)  # the part that holds the middle of the piece
        cuts[part] = Span(cuts.get(part, span).start, span.end)
        seen += n
    return list(cuts.values())


def _pieces(text: str, sentence: Span) -> list[tuple[Span, int]]:
    """A sentence with its number of words; one of more than 200 words in pieces of 100."""
    start, end = sentence
    length = len(text[start:end].split())
    if end - start > _WORD_LENGTH * length or spaceless(text[start:end]):
        length = len(_WORD.findall(text, start, end))
    if length <= _LONGEST:
        return [(sentence, length)]
    words = [match.span() for match in _WORD.finditer(text, start, end)]
    parts = [words[i : i + WORDS] for i in range(0, len(words), WORDS)]
    return [(Span(part[0][0], part[-1][1]), len(part)) for part in parts]
