"""When two answers are the same: as texts, as quantities, as dates or as places. A doubt is a no."""

import datetime as dt
import re
import unicodedata
from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from pipeline.reward import table
from pipeline.reward.places import same_place
from pipeline.reward.written_forms import one_way

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
_ACCENT = re.compile(
    "[\u0300-\u0337\u0339-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "−": "-", "–": "-", "—": "-",
     "‐": "-", "⁄": "/", "’": "'", "∼": "~", "٬": ",", "٫": ".", "♯": "#", "♭": "b"}
)  # fmt: skip
# Chinese, Japanese, Thai, Lao, Tibetan, Burmese, Khmer, Korean: blanks between two characters say nothing.
_SINGLE = re.compile(
    "([\u0e01-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff])"
)
# Numbers as other languages mark them, where their digits leave no doubt: 1.234.567, 1.234,5, 12,5, 0,125, 1'234'567.
_MARKED = re.compile(
    r"(?<![\d.,])(?<!\d')(?:\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:'\d{3})+|\d+,\d{1,2}|0,\d+)(?!\d|[.,']\d)"
)
# A raised digit is no digit of the number before it, and neither is a fraction: 10² is not 102, 5½ not 51/2.
_RAISED = re.compile("(?<=\\d)(?=[²³¹⁰⁴-⁹])|(?<=[²³¹⁰⁴-⁹])(?=[0-9])")
_FRACTION = re.compile("(?<=\\d)(?=[¼-¾⅐-⅞])")
_DIGITS = r"(?:\d{1,3}(?: \d{3})+|\d+(?:,\d+)*)(?:\.\d+)?"
_GROUPED = re.compile(r"-?\d{1,3}(?:(?:,\d{2,3})*,\d{3}|(?: \d{3})+)(?:\.\d+)?")
# Numbers, and the marks that make another answer of what they stand at: <5, $5, √5, 5%, 3-2, 3:2, C++, AB-. A hyphen
# ties a number to the letter before it as it ties two words: F-16 is F16.
_KEPT = re.compile(
    rf"(?P<number>(?<![\w.])(?<![^\W\d_]-(?=\d+(?![\d.,]?\d)))-?{_DIGITS}(?!\w))"
    r"|[<>≤≥≠≮≯≰≱~≈±√$£€¥₹](?=\s?-?\d)|(?<=\d)\s?[%€£$¥₹]|(?<=\d)\s?[/:^-]\s?(?=\d)|(?<=\w)[+#-]+(?!\w)"
)
_QUOTES = " \t\r\n*`\"'“”‘’«»„「」"
_ARTICLES = ("a", "an", "the")
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = {name[:cut]: n for n, name in enumerate(_MONTHS, 1) for cut in (3, 4 if name == "september" else 3, len(name))}
_MONATE = "januar februar marz april mai juni juli august september oktober november dezember".split()
_MONTH |= {name: n for n, name in enumerate(_MONATE, 1)} | {"janner": 1}
_DAYS = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend"
    r"|of|the|on|in|am|im)\b|(?<!\d\d\d)(?<=\d)(?:st|nd|rd|th)\b|[,.]"
)
_NUMERIC = re.compile(r"(\d{1,4})([-/]|\.\s?)(\d{1,2})\2(\d{1,4})")
_EASTERN = re.compile(r"(\d{4})\s?[年년](?:\s?(\d{1,2})\s?[月월](?:\s?(\d{1,2})\s?[日일号號])?)?")
_QUANTITY = re.compile(
    r"(?P<before>(?:us|usd|eur|gbp|au|ca)?\s?[$£€¥₹]|usd|eur|gbp)?\s?"
    r"(?P<value>-?(?:\d{1,3}(?:(?:,\d{2,3})*,\d{3}|(?: \d{3})+)|0|[1-9]\d*)(?:\.\d+)?)??"
    r"(?:(?<=\d) )?(?P<part>(?<!\d)[1-9]\d?/[1-9]\d{0,2}(?!\d))?"
    r"(?:[\s-](?!\Z))?(?P<scale>(?:hundred|thousand|million|billion|trillion|bn|mn)\b|[万萬만亿億억])?"
    r"\s?(?P<unit>[^\d\s-][^\n]{0,40})?"
)
# In English one and a part, in German and Spanish more than a thousand.
_DOUBTFUL = re.compile(r"-?[1-9]\d{0,2}\.\d{3}")
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "mn": 10**6, "billion": 10**9, "bn": 10**9,
           "trillion": 10**12, **dict.fromkeys("万萬만", 10**4), **dict.fromkeys("亿億억", 10**8)}  # fmt: skip
# What of a thing a quantity is; nothing where that goes without saying.
_DIMENSIONS = {
    "length": ("long",), "height": ("high", "tall"), "width": ("wide", "broad", "breadth"), "depth": ("deep",),
    "thickness": ("thick",), "diameter": (), "": ("in total", "in all", "in size", "altogether", "of age", "old"),
}  # fmt: skip
_DIMENSION = {word: name for name, words in _DIMENSIONS.items() for word in (*words, *([f"in {name}"] if name else []))}
_OF_WHAT = re.compile(rf"[\s-]({'|'.join(_DIMENSION)})\Z")
# A kind, the size of its unit, and how that is written; names without blanks, points and degree signs.
_UNIT_ROWS = table("units")
_THINGS = (
    "students members players seats votes points goals games matches wins titles medals species episodes songs tracks "
    "albums films books pages chapters floors storeys stories rooms islands states provinces districts countries "
    "cities languages children soldiers employees passengers ships aircraft stations schools copies times"
)
_UNITS = {
    word: (row[0], Fraction(row[1])) for row in map(str.split, _UNIT_ROWS.strip().split("\n")) for word in row[2:]
}
_UNITS |= {word: (thing, Fraction(1)) for thing in _THINGS.split() for word in (thing, thing.removesuffix("s"))}
_UNDIVIDED = {"people", *_THINGS.split()} - {"points", "times"}
_FINE = {_UNITS[name] for name in ("percent", "second", "inch")}
"""Units of which nobody counts thousands, and many give three decimals."""
_POUNDS = re.compile(r"\bpounds?(?: sterling)?\b", re.IGNORECASE)


def equal(answer: str, golds: list[str]) -> bool:
    """Is the answer one of the gold answers, which are spellings of one and the same?"""
    # Longer than all of them by far, it is none of them, whatever it costs to normalise.
    golds, answer = [gold for gold in golds if gold.strip()], _INVISIBLE.sub("", answer).strip(_QUOTES)
    if len(answer) > 20 * max(map(len, golds), default=0) + 200:
        return False
    said = _forms(answer)
    if any(said & _forms(gold) for gold in golds):
        return True
    # Where a gold answer is a date, 2001-02 is a month and no season.
    written = [] if any(map(_date, golds)) else [_written(gold) for gold in golds]
    said = _forms(_written(answer)) if written else frozenset()
    return (
        any(said & _forms(gold) for gold in written)
        or _same_date(answer, golds)
        or _same_quantity(answer, golds)
        or any(same_place(answer, gold, _forms) for gold in golds)
    )


@lru_cache(maxsize=4096)
def _written(text: str) -> str:
    return one_way(_folded(text))


def _folded(text: str) -> str:
    """Lower case, without accents, invisible characters and the other codes of one character; numbers as in English."""
    text = _INVISIBLE.sub("", text).lower() if text.isascii() else _unaccented(text)
    return _MARKED.sub(lambda found: re.sub("[.']", "", found[0]).replace(",", "."), text)


def _unaccented(text: str) -> str:
    text = _FRACTION.sub(" ", _RAISED.sub("^", _INVISIBLE.sub("", text)))
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    text = unicodedata.normalize("NFC", _ACCENT.sub("", text).translate(_LETTERS))
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() and not c.isascii() else c for c in text)


@lru_cache(maxsize=4096)
def _forms(text: str) -> frozenset[str]:
    """The text in words, with its other marks dropped (O'Neill is ONeill) and as blanks (Jean-Luc is Jean Luc)."""
    words = _SINGLE.sub(r" \1 ", _folded(text)).split()
    # An article at the end is none: Hepatitis A.
    kept = [
        w for n, w in enumerate(words) if w.strip("()\"',") not in _ARTICLES or (n == len(words) - 1 and w != "the")
    ]
    return frozenset(_plain(" ".join(kept or words), mark) for mark in ("", " ")) - {""}


def _plain(text: str, instead: str) -> str:
    kept: list[str] = []
    place = 0
    for found in _KEPT.finditer(text):
        value = found[0]
        if found["number"]:
            value = re.sub("[, ]", "", value) if _GROUPED.fullmatch(value) else value
        kept += [_unmarked(text[place : found.start()], instead), value.strip()]
        place = found.end()
    # The sign of the empty form would be all that there is of "!" or "-".
    form = " ".join(" ".join([*kept, _unmarked(text[place:], instead)]).split())
    return form if any(c.isalnum() for c in form) else ""


def _unmarked(text: str, instead: str) -> str:
    text = text.replace("&", " and ") if instead else text
    return "".join(instead if unicodedata.category(c)[0] in "PS" else c for c in text)


def _same_quantity(answer: str, golds: list[str]) -> bool:
    """Equal numbers of units of one kind. Where a gold answer names a unit, an answer that names one must agree. Pounds
    are a mass unless one of the texts says that they are money."""
    if any("£" in text or "sterling" in text.lower() for text in (answer, *golds)):
        answer, *golds = (_POUNDS.sub("gbp", text) for text in (answer, *golds))
    said = quantity(answer)
    if said is None:
        return False
    known = [found for gold in golds if not re.search(r"\d[\s-]?[A-Z][a-z]{2}", gold) and (found := quantity(gold))]
    known = [gold for gold in known if not (gold.of and said.of and gold.of != said.of)]
    named = [gold for gold in known if gold.unit]
    if said.unit and (named or any(re.match(r"-?\d", gold) and quantity(gold) is None for gold in golds)):
        kind, size = said.unit
        return any(
            unit[0] == kind and gold.number * unit[1] == said.number * size for gold in named if (unit := gold.unit)
        )
    return any(said.number == gold.number or _parted(said, gold) or _parted(gold, said) for gold in known)


def _parted(bare: "Quantity", other: "Quantity") -> bool:
    """Is a bare number, whose point may part thousands, what the other counts in things that have no parts?"""
    counted = other.unit is not None and other.unit[0] in _UNDIVIDED
    return bare.doubtful and not bare.unit and counted and 1000 * bare.number == other.number


class Quantity(NamedTuple):
    number: Fraction
    unit: tuple[str, Fraction] | None
    """Its kind and size, if one is named."""
    of: str
    """Length, height and so on, if it says so."""
    doubtful: bool
    """The point of the number may part thousands: 1.234."""


@lru_cache(maxsize=4096)
def quantity(text: str) -> Quantity | None:
    """None for what is no number or has a unit that is not known."""
    if len(text) > 100:
        return None
    plain = _written(text).rstrip(".。")
    dimension = _OF_WHAT.search(plain)
    found = _QUANTITY.fullmatch(plain[: dimension.start()] if dimension else plain)
    if not found or not (found["value"] or found["part"]):
        return None
    names = [re.sub(r"[\s.°^-]", "", name) for name in (found["before"], found["unit"]) if name]
    names = [name or "degrees" for name in names]
    if len(names) > 1 or any(name not in _UNITS for name in names):
        return None
    unit = _UNITS[names[0]] if names else None
    value = found["value"] or "0"
    doubtful = _DOUBTFUL.fullmatch(value) is not None and not found["scale"] and unit not in _FINE
    if doubtful and unit and unit[0] in _UNDIVIDED:
        value, doubtful = value.replace(".", ""), False
    number = Fraction(re.sub("[, ]", "", value))
    if part := found["part"]:
        top, bottom = map(int, part.split("/"))
        # 6/8 is a time and 9/5 a day, or the other way about.
        if top >= bottom or gcd(top, bottom) > 1 or number.denominator > 1:
            return None
        number += Fraction(top, bottom) * (-1 if number < 0 else 1)
    number *= _SCALES.get(found["scale"] or "", 1)
    return Quantity(number, unit, _DIMENSION[dimension[1]] if dimension else "", doubtful)


def _same_date(answer: str, golds: list[str]) -> bool:
    """The same date as a gold answer, or one with more detail that agrees with the most detailed of them."""
    said, known = _date(answer), [date for gold in golds if (date := _date(gold))]
    if said is None or not known:
        return False
    most = max(map(len, known))
    if all(date[0] == 0 for date in known):
        return said[1:] in {date[1:] for date in known}
    return said in known or any(len(date) == most < len(said) and said[:most] == date for date in known)


@lru_cache(maxsize=4096)
def _date(text: str) -> tuple[int, ...] | None:
    """Year, month and day as far as they are given, from what is one date and nothing else, the year 0 for a day of any
    year. 01/02/2001 is two dates, but 01.02.2001 is not: with points the day stands first."""
    if len(text) > 60:
        return None
    text = _written(text).rstrip("。")
    if eastern := _EASTERN.fullmatch(text):
        return _valid(*(int(part) for part in eastern.groups() if part))
    if numeric := _NUMERIC.fullmatch(text):
        first, middle, last = numeric[1], int(numeric[3]), numeric[4]
        if len(first) == 4:
            return _valid(int(first), middle, int(last)) if len(last) < 3 else None
        day_first, month_first = (middle, int(first)), (int(first), middle)
        orders = [day_first] if "." in numeric[2] else [day_first, month_first]
        found = {date for order in orders if (date := _valid(int(last), *order))}
        return found.pop() if len(found) == 1 and len(last) == 4 and len(first) < 3 else None
    words = _DAYS.sub(" ", text).split()
    months = [_MONTH[word] for word in words if word in _MONTH]
    years = [int(word) for word in words if re.fullmatch("[12][0-9]{3}", word)]
    days = [int(word) for word in words if re.fullmatch("[0-9]{1,2}", word)]
    if len(months) == len(days) == 1 and len(words) == 2:
        return (0, *months, *days) if _valid(2000, *months, *days) else None
    if len(years) != 1 or len(months) > 1 or len(words) != 1 + len(months) + len(days) or len(days) > len(months):
        return None
    return _valid(years[0], *months, *days)


def _valid(year: int, month: int = 0, day: int = 0) -> tuple[int, ...] | None:
    try:
        dt.date(year, month or 1, day or 1)
    except ValueError:
        return None
    return tuple(part for part in (year, month, day) if part) if year >= 1000 else None
