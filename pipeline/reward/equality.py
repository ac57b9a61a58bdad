"""Equality of two answers: as texts, quantities, dates or places. In doubt they differ."""

import datetime as dt
import re
import unicodedata
from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from pipeline.reward import table
from pipeline.reward.places import same_place
from pipeline.reward.written_forms import unify_forms

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
# Chinese, Japanese, Thai, Lao, Tibetan, Burmese, Khmer, Korean: a blank between two characters means nothing.
_SINGLE = re.compile(
    "([\u0e01-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u3005-\u3007\u3041-\u3096\u309d-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff])"
)
# Numbers as other languages write them, if their digits are unambiguous: 1.234.567, 1.234,5, 12,5, 0,125, 1'234'567.
_MARKED = re.compile(
    r"(?<![\d.,])(?<!\d')(?:\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:'\d{3})+|\d+,\d{1,2}|0,\d+)(?!\d|[.,']\d)"
)
# A raised digit does not belong to the number before it, nor does a fraction: 10² is not 102, 5½ is not 51/2.
_RAISED = re.compile("(?<=\\d)(?=[²³¹⁰⁴-⁹])|(?<=[²³¹⁰⁴-⁹])(?=[0-9])")
_FRACTION = re.compile("(?<=\\d)(?=[¼-¾⅐-⅞])")
_DIGITS = r"(?:\d{1,3}(?: \d{3})+|\d+(?:,\d+)*)(?:\.\d+)?"
_GROUPED = re.compile(r"-?\d{1,3}(?:(?:,\d{2,3})*,\d{3}|(?: \d{3})+)(?:\.\d+)?")
# Numbers, and the marks that change the meaning of their neighbour: <5, $5, √5, 5%, 3-2, 3:2, C++, AB-. A hyphen joins
# a number to the letter before it as it joins two words: F-16 is F16.
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
# In English between 1 and 1,000, in German and Spanish more than 1,000.
_DOUBTFUL = re.compile(r"-?[1-9]\d{0,2}\.\d{3}")
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "mn": 10**6, "billion": 10**9, "bn": 10**9,
           "trillion": 10**12, **dict.fromkeys("万萬만", 10**4), **dict.fromkeys("亿億억", 10**8)}  # fmt: skip
# Words for the dimension that a quantity measures; an empty name if the word adds nothing.
_DIMENSIONS = {
    "length": ("long",), "height": ("high", "tall"), "width": ("wide", "broad", "breadth"), "depth": ("deep",),
    "thickness": ("thick",), "diameter": (), "": ("in total", "in all", "in size", "altogether", "of age", "old"),
}  # fmt: skip
_DIMENSION = {word: name for name, words in _DIMENSIONS.items() for word in (*words, *([f"in {name}"] if name else []))}
_OF_WHAT = re.compile(rf"[\s-]({'|'.join(_DIMENSION)})\Z")
# Rows: a kind, the size of a unit, and its names without blanks, points and degree signs.
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
"""Units that are often given with three decimals, and never counted in thousands."""
_POUNDS = re.compile(r"\bpounds?(?: sterling)?\b", re.IGNORECASE)


def equal(answer: str, golds: list[str]) -> bool:
    """Return whether the answer equals one of the gold answers, which are spellings of the same thing."""
    # A far longer answer cannot be equal, and would be slow to normalise.
    golds, answer = [gold for gold in golds if gold.strip()], _INVISIBLE.sub("", answer).strip(_QUOTES)
    if len(answer) > 20 * max(map(len, golds), default=0) + 200:
        return False
    forms = _forms(answer)
    if any(forms & _forms(gold) for gold in golds):
        return True
    # If a gold answer is a date, 2001-02 is a month, not a season.
    unified = [] if any(map(_read_date, golds)) else [_unify(gold) for gold in golds]
    forms = _forms(_unify(answer)) if unified else frozenset()
    return (
        any(forms & _forms(gold) for gold in unified)
        or _same_date(answer, golds)
        or _same_quantity(answer, golds)
        or any(same_place(answer, gold, _forms) for gold in golds)
    )


@lru_cache(maxsize=4096)
def _unify(text: str) -> str:
    return unify_forms(_fold(text))


def _fold(text: str) -> str:
    text = _INVISIBLE.sub("", text).lower() if text.isascii() else _strip_accents(text)
    return _MARKED.sub(lambda match: re.sub("[.']", "", match[0]).replace(",", "."), text)


def _strip_accents(text: str) -> str:
    text = _FRACTION.sub(" ", _RAISED.sub("^", _INVISIBLE.sub("", text)))
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    text = unicodedata.normalize("NFC", _ACCENT.sub("", text).translate(_LETTERS))
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() and not c.isascii() else c for c in text)


@lru_cache(maxsize=4096)
def _forms(text: str) -> frozenset[str]:
    """Return the text's words in two forms: marks dropped (O'Neill is ONeill), and as blanks (Jean-Luc is Jean Luc)."""
    words = _SINGLE.sub(r" \1 ", _fold(text)).split()
    # At the end "a" is not an article: Hepatitis A.
    content = [
        w for n, w in enumerate(words) if w.strip("()\"',") not in _ARTICLES or (n == len(words) - 1 and w != "the")
    ]
    return frozenset(_strip_marks(" ".join(content or words), instead) for instead in ("", " ")) - {""}


def _strip_marks(text: str, instead: str) -> str:
    pieces: list[str] = []
    end = 0
    for match in _KEPT.finditer(text):
        value = match[0]
        if match["number"]:
            value = re.sub("[, ]", "", value) if _GROUPED.fullmatch(value) else value
        pieces += [_replace_marks(text[end : match.start()], instead), value.strip()]
        end = match.end()
    # Without this check "!" and "-" would have forms without letters or digits.
    form = " ".join(" ".join([*pieces, _replace_marks(text[end:], instead)]).split())
    return form if any(c.isalnum() for c in form) else ""


def _replace_marks(text: str, instead: str) -> str:
    text = text.replace("&", " and ") if instead else text
    return "".join(instead if unicodedata.category(c)[0] in "PS" else c for c in text)


def _same_quantity(answer: str, golds: list[str]) -> bool:
    """Return whether the quantities are equal after conversion of units.

    If the answer and a gold answer name units, these must agree. Pounds are a mass unless one of the texts says that
    they are money.
    """
    if any("£" in text or "sterling" in text.lower() for text in (answer, *golds)):
        answer, *golds = (_POUNDS.sub("gbp", text) for text in (answer, *golds))
    amount = quantity(answer)
    if amount is None:
        return False
    right = [value for gold in golds if not re.search(r"\d[\s-]?[A-Z][a-z]{2}", gold) and (value := quantity(gold))]
    right = [gold for gold in right if not (gold.of and amount.of and gold.of != amount.of)]
    with_unit = [gold for gold in right if gold.unit]
    if amount.unit and (with_unit or any(re.match(r"-?\d", gold) and quantity(gold) is None for gold in golds)):
        kind, size = amount.unit
        return any(
            unit[0] == kind and gold.number * unit[1] == amount.number * size
            for gold in with_unit
            if (unit := gold.unit)
        )
    return any(
        amount.number == gold.number or _is_thousandfold(amount, gold) or _is_thousandfold(gold, amount)
        for gold in right
    )


def _is_thousandfold(bare: "Quantity", count: "Quantity") -> bool:
    """Return whether a bare number, read with its point as a thousands separator, is this count of whole things."""
    is_of_whole_things = count.unit is not None and count.unit[0] in _UNDIVIDED
    return bare.doubtful and not bare.unit and is_of_whole_things and 1000 * bare.number == count.number


class Quantity(NamedTuple):
    number: Fraction
    unit: tuple[str, Fraction] | None
    """Its kind and size, if there is one."""
    of: str
    """The dimension, such as length or height, if the text names it."""
    doubtful: bool
    """Whether the point of the number may be a thousands separator: 1.234."""


@lru_cache(maxsize=4096)
def quantity(text: str) -> Quantity | None:
    """Return the quantity that a text states, or None if it is not a number or has an unknown unit."""
    if len(text) > 100:
        return None
    plain = _unify(text).rstrip(".。")
    dimension = _OF_WHAT.search(plain)
    match = _QUANTITY.fullmatch(plain[: dimension.start()] if dimension else plain)
    if not match or not (match["value"] or match["part"]):
        return None
    names = [re.sub(r"[\s.°^-]", "", name) for name in (match["before"], match["unit"]) if name]
    names = [name or "degrees" for name in names]
    if len(names) > 1 or any(name not in _UNITS for name in names):
        return None
    unit = _UNITS[names[0]] if names else None
    value = match["value"] or "0"
    doubtful = _DOUBTFUL.fullmatch(value) is not None and not match["scale"] and unit not in _FINE
    if doubtful and unit and unit[0] in _UNDIVIDED:
        value, doubtful = value.replace(".", ""), False
    number = Fraction(re.sub("[, ]", "", value))
    if part := match["part"]:
        top, bottom = map(int, part.split("/"))
        # 6/8 may be a time signature, and 9/5 a date.
        if top >= bottom or gcd(top, bottom) > 1 or number.denominator > 1:
            return None
        number += Fraction(top, bottom) * (-1 if number < 0 else 1)
    number *= _SCALES.get(match["scale"] or "", 1)
    return Quantity(number, unit, _DIMENSION[dimension[1]] if dimension else "", doubtful)


def _same_date(answer: str, golds: list[str]) -> bool:
    # An answer may add detail to the most detailed gold date that it agrees with.
    date, gold_dates = _read_date(answer), [gold_date for gold in golds if (gold_date := _read_date(gold))]
    if date is None or not gold_dates:
        return False
    most = max(map(len, gold_dates))
    if all(gold[0] == 0 for gold in gold_dates):
        return date[1:] in {gold[1:] for gold in gold_dates}
    return date in gold_dates or any(len(gold) == most < len(date) and date[:most] == gold for gold in gold_dates)


@lru_cache(maxsize=4096)
def _read_date(text: str) -> tuple[int, ...] | None:
    """Return year, month and day, as far as a text that is one date gives them; the year is 0 for a day of any year.

    01/02/2001 could be two dates and gives None; in 01.02.2001, with points, the day comes first.
    """
    if len(text) > 60:
        return None
    text = _unify(text).rstrip("。")
    if eastern := _EASTERN.fullmatch(text):
        return _build_date(*(int(part) for part in eastern.groups() if part))
    if numeric := _NUMERIC.fullmatch(text):
        first, middle, last = numeric[1], int(numeric[3]), numeric[4]
        if len(first) == 4:
            return _build_date(int(first), middle, int(last)) if len(last) < 3 else None
        day_first, month_first = (middle, int(first)), (int(first), middle)
        orders = [day_first] if "." in numeric[2] else [day_first, month_first]
        readings = {date for order in orders if (date := _build_date(int(last), *order))}
        return readings.pop() if len(readings) == 1 and len(last) == 4 and len(first) < 3 else None
    words = _DAYS.sub(" ", text).split()
    months = [_MONTH[word] for word in words if word in _MONTH]
    years = [int(word) for word in words if re.fullmatch("[12][0-9]{3}", word)]
    days = [int(word) for word in words if re.fullmatch("[0-9]{1,2}", word)]
    if len(months) == len(days) == 1 and len(words) == 2:
        return (0, *months, *days) if _build_date(2000, *months, *days) else None
    if len(years) != 1 or len(months) > 1 or len(words) != 1 + len(months) + len(days) or len(days) > len(months):
        return None
    return _build_date(years[0], *months, *days)


def _build_date(year: int, month: int = 0, day: int = 0) -> tuple[int, ...] | None:
    try:
        dt.date(year, month or 1, day or 1)
    except ValueError:
        return None
    return tuple(part for part in (year, month, day) if part) if year >= 1000 else None
