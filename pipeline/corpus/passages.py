"""Documents into passages of about 100 words, on sentence boundaries.

A document is cut into equal parts rather than filled up from the left, so that no stump of a sentence is left over.
"""

from pipeline.text import Span, sentences
from pipeline.types import Document, Passage

CHUNKER = "1"
"""Part of every fingerprint: raise it whenever a document would be cut otherwise, by a change in `sentences` too."""

WORDS = 100
_LONGEST = 200


def passages(document: Document) -> list[Passage]:
    """The passages of a document, in order; offsets count code points of `stored`, titles lie outside of all."""
    stored, body = document.stored, len(document.title) + 1
    return [
        Passage(
            id=f"{document.id}#{number}",
            document_id=document.id,
            title=document.title,
            text=stored[body + start : body + end],
            start=body + start,
            end=body + end,
        )
        for number, (start, end) in enumerate(_cut(document.text))
    ]


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
    length = len(text[sentence.start : sentence.end].split())
    if length <= _LONGEST:
        return [(sentence, length)]
    starts = _word_starts(text, sentence)[::WORDS]
    ends = [*starts[1:], sentence.end]
    trimmed = [Span(a, a + len(text[a:b].rstrip())) for a, b in zip(starts, ends, strict=True)]
    return [(span, len(text[span.start : span.end].split())) for span in trimmed]


def _word_starts(text: str, span: Span) -> list[int]:
    inside = range(span.start, span.end)
    return [i for i in inside if not text[i].isspace() and (i == span.start or text[i - 1].isspace())]
