"""Text functions that all agents share: sentences, words, dates, numbers and equality.

Words, sentences and equality work in any language. Dates are read in English, German, Chinese, Japanese and Korean, and
compare as text in other languages. Nothing here knows about questions, relations or templates.
"""

import re
import unicodedata
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTH = "|".join(MONTHS)
MONATE = (
    "Januar", "Februar", "März", "April", "Mai", "Juni",
    "Juli", "August", "September", "Oktober", "November", "Dezember",
)  # fmt: skip
_NUMBERED = {name: n for names in (MONATE, MONTHS) for n, name in enumerate(names, 1)} | {"Jänner": 1}
_ANY_MONTH = "|".join(sorted(_NUMBERED, key=len, reverse=True))
_DATES = (
    rf"\b(?:(?P<d1>\d{{1,2}})(?:(?:st|nd|rd|th)?\s+|\.\s?)(?P<m1>{_ANY_MONTH}),?\s+(?P<y1>\d{{4}})"
    rf"|(?P<m2>{_MONTH})\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y2>\d{{4}})"
    rf"|(?P<m3>{_ANY_MONTH}),?\s+(?P<y3>\d{{4}})"
    r"|(?P<y4>\d{4})-(?P<mm>\d{2})-(?P<dd>\d{2})"
    r"|(?P<d6>\d{1,2})\.\s?(?P<m6>\d{1,2})\.\s?(?P<y6>\d{4})"
    r"|(?P<y5>1[0-9]{3}|20[0-9]{2})(?!,\d))(?![\d%]|,\d{3}|\.\d)"
)
_DATE = re.compile(_DATES)
_WITH_EASTERN_DATE = re.compile(
    rf"(?<!\d)(?P<y7>\d{{4}})\s?[年년](?:\s?(?P<m7>\d{{1,2}})\s?[月월](?:\s?(?P<d7>\d{{1,2}})\s?[日일])?)?|{_DATES}"
)
_SCALE = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
          "万": 1e4, "萬": 1e4, "만": 1e4, "亿": 1e8, "億": 1e8, "억": 1e8}  # fmt: skip
_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
# Chinese, Japanese, Thai, Lao, Tibetan, Burmese, Khmer: there is nothing between two words. Korean has blanks, but its
# particles are attached to the word before them.
HAN = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
THAI = "\u0e01-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
SINGLE = f"{HAN}{THAI}\uac00-\ud7a3"
_MARKED = "\u0900-\u0963\u0966-\u0dff"
"""Scripts of India. Python does not count their vowel signs as letters, but words contain them."""
_NUMBER = re.compile(
    rf"(?<![^\W{SINGLE}])(?<![.,])"
    r"(?P<digits>(?!0,)\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}(?!\.?\d)"
    r"|\d{1,3}(?:[\u00a0\u2009\u202f'’]\d{3})+(?!\d)|\d{1,3},\d{1,2}(?!\d|-[^\W\d_])|0,\d+|\d+(?:\.\d+)?)"
    r"(?:\s+(?P<scale>hundred|thousand|million|billion|trillion)|\s?(?P<unit>[万萬만亿億억]))?"
    rf"(?![^\W{SINGLE}]|[.,]\d)|\b(?P<word>{'|'.join(_WORDS)})\b",
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"\.\d+,|^(?:\d+,\d{1,2}|0,\d+)$")
_WORD = re.compile(r"[^\W_]+")
_ANY_WORD = re.compile(rf"[{SINGLE}]|(?:[^\W_{SINGLE}{_MARKED}]|[{_MARKED}])+")
_BEYOND = re.compile("[\u0900-\u1fff\u3005-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]")
"""Characters that need `_ANY_WORD`; for all others `_WORD` is enough and much faster."""
_SPLIT = re.compile(f"[{SINGLE}]")
_RUN = re.compile(f"[{SINGLE}]+|[^{SINGLE}]+")
_DIGIT = re.compile(r"[^\D0-9]")
_ARTICLE = re.compile(r"(?<!\w[-.@&+/\\])\b(?:an?|the)\b(?![-@&+/\\]\w|\. ?\w)", re.IGNORECASE)
_ELIDED = re.compile(r"\b(?:[lLdjnmtsc]|[Qq]u|dell|all|nell|dall|sull)['’](?=[^\W\d_])|['’](?=[^\W\d_A-Z]{2,4}\b)")
"""An article or a suffix that an apostrophe joins to a name: l'Italie, İstanbul'da."""
_TAG = re.compile(r"[(（][^()（）]*[)）]$")
# Marks over and under letters, but not those of kana, India and South East Asia, which make another letter.
_ACCENT = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_NEVER_ENDS = frozenset(
    "mr mrs ms dr prof st sr jr rev gen col lt sgt capt hon gov sen rep no vs etc inc ltd co corp mt ft dept est "
    "approx ca c b d r lit pop fl vol ed pp u.s u.k d.c e.g i.e a.k.a u.s.a jan feb mar apr jun jul aug sep sept oct "
    "nov dec nr bzw geb gest г гг в вв им ул".split()
)
_BLANK = re.compile(r"[\s(]")
_INITIALS = re.compile(r"[A-Z](\.[A-Z])*")
_WIDE = 50
_CLOSED = re.compile(r"[.!?:;][\"'”’)\]]*$")
_ITEM = re.compile(r"[-*•#|]|\d+[.)] |[A-Z][^.:]{1,80}: ")
# First letters of a sentence in Greek, Cyrillic, Armenian, Hebrew and Arabic, and in India, Georgia and Korea.
_CAPITAL = (
    "\u0386-\u03ab\u0400-\u042f\u0531-\u0556\u05d0-\u05ea\u0620-\u064a\u0671-\u06d3\u0904-\u0dff\u10a0-\u10ff"
    "\uac00-\ud7a3"
)
LATIN = "".join(filter(str.isupper, map(chr, range(0xC0, 0x250))))
"""Capital letters with marks."""
_STOPS = "。！？｡؟۔।॥።"
_END = re.compile(
    rf"[.!?][\"'”“’»)\]]*(?=\s+[\"'“‘(\[„«»¿¡]*[A-Z0-9{LATIN}{_CAPITAL}]|\s*$)|\n+"
    rf"|(?<![{_STOPS}])[{_STOPS}]++[\"'”’)\]」』）】》]*+(?=\s*[\"'“‘(\[「『（【《]*[{HAN}]|\s+[^\x00-\x7f]|\s*$)"
)
_ORDINAL = re.compile(rf"\d{{1,2}}\.\s(?=(?:{_ANY_MONTH})\b)")
_BEFORE_MARKED = re.compile(rf"(?:\d{{1,2}}|[iouv]|Fa|Univ)\.\s+[{LATIN}]")
"""Points that end no sentence before a capital letter with a mark: "o. Ä.", "3. Österreicher". Before other capitals
they may, and corpora have been cut into passages that way."""


class Span(NamedTuple):
    """A range [start, end) of code points in a text."""

    start: int
    end: int


class Date(NamedTuple):
    """A date in a text; `month` and `day` are 0 if the text does not give them."""

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
    """Return the sentences without the blanks between them; abbreviations and initials do not end a sentence."""
    spans, start, last = [], 0, len(text.rstrip())
    for match in _END.finditer(text):
        if text[match.start()] == "." and match.end() < last:
            # The last word; only its last 24 characters can matter.
            word = _BLANK.split(text[max(start, match.start() - 24) : match.start()])[-1]
            if word.lower() in _NEVER_ENDS or _INITIALS.fullmatch(word) or (len(word) == 1 and word.isupper()):
                continue
            at = match.start() - len(word)
            if (word.isdigit() and _ORDINAL.match(text, at)) or _BEFORE_MARKED.match(text, at):
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


def trim_lines(text: str) -> str:
    """Return the text in the form that agents see: without spare blanks and empty lines, and with wrapped lines joined.

    Other line ends stay, so that a table remains a table.
    """
    lines: list[str] = []
    before = ""
    for line in (" ".join(line.split()) for line in text.split("\n") if line.strip()):
        wide = line[0].islower() or len(before) >= _WIDE
        if before and wide and not _CLOSED.search(before) and not _ITEM.match(line):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        before = line
    return "\n".join(lines)


def is_plain_english(word: str) -> bool:
    return word.lower() in _english_words()


@cache
def _english_words() -> frozenset[str]:
    """Read the lexicon that TextBlob ships.

    TextBlob is not imported, since that takes a second, and this may be asked for while seeds run.
    """
    package = find_spec("textblob")
    if package is None or package.origin is None:
        raise ImportError("textblob is not installed")
    lines = Path(package.origin).with_name("en").joinpath("en-lexicon.txt").read_text(encoding="utf-8-sig").splitlines()
    return frozenset(line.split(" ", 1)[0] for line in lines if line and not line.startswith(";;;"))


def dates(text: str) -> list[Date]:
    """Return the dates from left to right, each in its longest reading; a bare year counts from 1000 to 2099."""
    days = []
    eastern = "年" in text or "년" in text
    for match in (_WITH_EASTERN_DATE if eastern else _DATE).finditer(text):
        m = match.groupdict()
        year = next(m[name] for name in ("y1", "y2", "y3", "y4", "y5", "y6", "y7") if m.get(name))
        name = m["m1"] or m["m2"] or m["m3"]
        month = _NUMBERED[name] if name else int(m["mm"] or m["m6"] or m.get("m7") or 0)
        day = int(m["d1"] or m["d2"] or m["dd"] or m["d6"] or m.get("d7") or 0)
        if month <= 12 and day <= 31:
            days.append(Date(int(year), month, day, Span(*match.span())))
    return days


def numbers(text: str) -> list[Number]:
    """Return the numbers from left to right, in digits or in words up to twenty; "3.5 million" is one number."""
    values = []
    for m in _NUMBER.finditer(text):
        if m["word"]:
            value = float(_WORDS[m["word"].lower()])
        else:
            value = _parse_digits(m["digits"]) * _SCALE.get((m["scale"] or m["unit"] or "").lower(), 1)
        values.append(Number(value, Span(*m.span())))
    return values


def _parse_digits(digits: str) -> float:
    """Parse a number as in English, unless its marks show another language: 1.234.567, 1.234,5, 12,5, 0,125."""
    if digits.count(".") > 1 or _DECIMAL_COMMA.search(digits):
        digits = digits.replace(".", "").replace(",", ".")
    return float(re.sub(r"[^\d.]", "", digits))


def fold(text: str) -> str:
    plain = _ACCENT.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return _DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), plain)


def words(text: str) -> list[str]:
    """Return the words in lower case, without accents and marks: the tokens of equality and overlap.

    In scripts without blanks between words, and in Korean, each character is a word.
    """
    if text.isascii():
        return _WORD.findall(text.lower())
    plain = fold(text)
    return _ANY_WORD.findall(unicodedata.normalize("NFC", plain)) if _BEYOND.search(plain) else _WORD.findall(plain)


def terms(text: str) -> list[str]:
    """Return words as `words` does, but pairs of neighbours instead of single characters, which mean little alone."""
    if text.isascii() or not _SPLIT.search(text):
        return words(text)
    return [pair for run in _RUN.findall(unicodedata.normalize("NFC", text)) for pair in _pairs(run)]


def _pairs(run: str) -> list[str]:
    several = len(run) > 1 and _SPLIT.match(run)
    return ["".join(words(run[n : n + 2])) for n in range(len(run) - 1)] if several else words(run)


def normalise(text: str) -> str:
    """Normalise an answer as SQuAD's evaluation script does (Rajpurkar et al. 2016), and fold accents.

    Only a separate word is an article: the "a" of "a.cache", "A&E", "a-ha" and "A. A. Milne" stays.
    """
    return " ".join(words(_ARTICLE.sub(" ", re.sub(r"['’]s?\b", "", text))))


def strip_tag(title: str) -> str:
    """Return a title without its disambiguation: "Algeria (Geography)" becomes "Algeria"."""
    tag = _TAG.search(title)
    return title[: tag.start()].rstrip() if tag else title


def contains(text: str, phrase: str) -> bool:
    """Return whether `text` contains `phrase` as whole words after normalisation, with or without an elided article."""
    needle = f" {normalise(phrase)} "
    if not needle.strip():
        return False
    if needle in f" {normalise(text)} ":
        return True
    return _ELIDED.search(text) is not None and needle in f" {normalise(_ELIDED.sub(' ', text))} "
