"""What generator, solver, judge and audit may all know of English text: sentences, tags, dates, numbers, equality.

This is all that generator and solver share, so it holds no idea of a question, a relation or a template.
"""

import importlib.util
import re
import sys
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<m1>{_MONTH}),?\s+(?P<y1>\d{{4}})"
    rf"|(?P<m2>{_MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y2>\d{{4}})"
    rf"|(?P<m3>{_MONTH}),?\s+(?P<y3>\d{{4}})"
    r"|(?P<y4>\d{4})-(?P<mm>\d{2})-(?P<dd>\d{2})"
    r"|(?P<y5>1[0-9]{3}|20[0-9]{2}))(?![\d%]|,\d{3}|\.\d)"
)
_SCALE = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s+(?P<scale>hundred|thousand|million|billion|trillion))?"
    rf"(?![\w])|\b(?P<word>{'|'.join(_WORDS)})\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\d[\d,.]*\d|\d|[^\W\d_]\.(?:[^\W\d_]\.)+|[^\W_]+(?:['’\-][^\W_]+)*|[^\w\s]|_")
_WORD = re.compile(r"[^\W_]+")
_ARTICLE = re.compile(r"(?<!\w[-.@&+/\\])\b(?:an?|the)\b(?![-@&+/\\]\w|\. ?\w)", re.IGNORECASE)
_TAG = re.compile(r"\s*\([^()]*\)$")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_NEVER_ENDS = frozenset(
    "mr mrs ms dr prof st sr jr rev gen col lt sgt capt hon gov sen rep no vs etc inc ltd co corp mt ft dept est "
    "approx ca c b d r lit pop fl vol ed pp u.s u.k d.c e.g i.e a.k.a u.s.a jan feb mar apr jun jul aug sep sept oct "
    "nov dec".split()
)
_BLANK = re.compile(r"[\s(]")
_INITIALS = re.compile(r"[A-Z](\.[A-Z])*")
_WIDE = 50
_CLOSED = re.compile(r"[.!?:;][\"'”’)\]]*$")
_ITEM = re.compile(r"[-*•#|]|\d+[.)] |[A-Z][^.:]{1,80}: ")
_END = re.compile(r"[.!?][\"'”’)\]]*(?=\s+[\"'“‘(\[]*[A-Z0-9]|\s*$)|\n+")


class Span(NamedTuple):
    """Code points [start, end) of the text it was found in."""

    start: int
    end: int


class Token(NamedTuple):
    """A word or mark with its Penn Treebank tag and its place."""

    text: str
    tag: str
    start: int
    end: int


class Date(NamedTuple):
    """`month` and `day` are 0 where the text does not give them."""

    year: int
    month: int
    day: int
    span: Span

    @property
    def precision(self) -> str:
        return "day" if self.day else "month" if self.month else "year"


class Number(NamedTuple):
    value: float
    span: Span


def sentences(text: str) -> list[Span]:
    """Sentences, without the blanks between them; abbreviations and initials do not end one."""
    spans, start, last = [], 0, len(text.rstrip())
    for match in _END.finditer(text):
        if text[match.start()] == "." and match.end() < last:
            # Its last word, which cannot matter beyond so many characters.
            word = _BLANK.split(text[max(start, match.start() - 24) : match.start()])[-1]
            if word.lower() in _NEVER_ENDS or _INITIALS.fullmatch(word):
                continue
        if text[start : match.end()].strip():
            spans.append(_trim(text, start, match.end()))
        start = match.end()
    if text[start:].strip():
        spans.append(_trim(text, start, len(text)))
    return spans


def _trim(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return Span(start + len(piece) - len(piece.lstrip()), end - (len(piece) - len(piece.rstrip())))


def trimmed(text: str) -> str:
    """The text as agents are shown it: line by line, so that a table stays one, without spare blanks and empty lines,
    and with the lines joined that were broken for their width alone."""
    shown: list[str] = []
    before = ""
    for line in (" ".join(line.split()) for line in text.split("\n") if line.strip()):
        wide = line[0].islower() or len(before) >= _WIDE
        if before and wide and not _CLOSED.search(before) and not _ITEM.match(line):
            shown[-1] += f" {line}"
        else:
            shown.append(line)
        before = line
    return "\n".join(shown)


@lru_cache(maxsize=4096)
def tagged(sentence: str) -> tuple[Token, ...]:
    """Tokens of one sentence with tags (TextBlob's lexicon and rules; no downloads)."""
    matches = list(_TOKEN.finditer(sentence))
    found = _tagger()([match.group().replace("/", "-") for match in matches])
    return tuple(Token(m.group(), tag, *m.span()) for m, (_, tag) in zip(matches, found, strict=True))


@cache
def _tagger() -> Callable[[list[str]], list[list[str]]]:
    """TextBlob's tagger alone: what its package imports besides (NLTK, and with it SciPy) takes seconds to load."""
    spec: Any = importlib.util.find_spec("textblob")
    sys.modules["textblob"] = importlib.util.module_from_spec(spec)
    try:
        from textblob.en import parser
    finally:
        del sys.modules["textblob"]
    return parser.find_tags  # type: ignore[no-any-return]


def dates(text: str) -> list[Date]:
    """Dates from left to right, the longest reading of each; a bare year counts from 1000 to 2099."""
    found = []
    for m in _DATE.finditer(text):
        year = next(m[name] for name in ("y1", "y2", "y3", "y4", "y5") if m[name])
        name = m["m1"] or m["m2"] or m["m3"]
        month = MONTHS.index(name) + 1 if name else int(m["mm"] or 0)
        day = int(m["d1"] or m["d2"] or m["dd"] or 0)
        if month <= 12 and day <= 31:
            found.append(Date(int(year), month, day, Span(*m.span())))
    return found


def numbers(text: str) -> list[Number]:
    """Numbers from left to right, in digits or in words up to twenty; "3.5 million" is one, and so is a year."""
    found = []
    for m in _NUMBER.finditer(text):
        if m["word"]:
            value = float(_WORDS[m["word"].lower()])
        else:
            value = float(m["digits"].replace(",", "")) * _SCALE.get((m["scale"] or "").lower(), 1)
        found.append(Number(value, Span(*m.span())))
    return found


def words(text: str) -> list[str]:
    """Lower-case words without accents or marks: the tokens that equality and overlap are counted in."""
    if text.isascii():
        return _WORD.findall(text.lower())
    plain = unicodedata.normalize("NFKD", text.casefold())
    return _WORD.findall(_FOREIGN.sub(lambda found: "" if unicodedata.combining(found[0]) else found[0], plain))


def normalise(text: str) -> str:
    """SQuAD's answer normalisation (Rajpurkar et al. 2016, evaluation script), with accents folded too.

    An article is a word of its own: the "a" of "a.cache", "A&E", "a-ha" and "A. A. Milne" is none, and stays.
    """
    return " ".join(words(_ARTICLE.sub(" ", re.sub(r"['’]s?\b", "", text))))


def untagged(title: str) -> str:
    """Without what tells a title from others of its name: "Algeria (Geography)"."""
    return _TAG.sub("", title)


def contains(text: str, phrase: str) -> bool:
    """Does `text` hold `phrase` as whole words, after normalisation?"""
    needle = normalise(phrase)
    return bool(needle) and f" {needle} " in f" {normalise(text)} "
