"""Intervals of the values that a text allows, such as "44 %", "1875", "at least 300 km" or "1 in 15,000 to 40,000".

A written number stands for all numbers that round to it, and a date for all moments within it. Operations compute with
the limits of the intervals, so that no answer depends on digits that no passage states.
"""

import re
import unicodedata
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from pipeline.reward.equality import quantity
from pipeline.reward.written_forms import unify_forms
from pipeline.text import Date, Span, dates

DATE = "date"
SHARE = "share"
"""The kind of percentages, odds ("1 in 36,000") and rates ("2 per 100,000")."""
_LONGEST = 120
_MEASURES = ("mass", "celsius")
"""Kinds of the units table that end in s but are not counts."""
_ROUND_COUNT = 100
"""From this number on, a count that ends in zeros is taken to be rounded."""
_NUMBER = r"-?(?:\d{1,3}(?:[, ]\d{3})+(?!\d)|\d+)(?:\.\d+)?"
_MILLIONS_WITH_DOTS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{3}){2,3}(?![\d.])")
"""Several dots separate thousands; a single one is a decimal point."""
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALED = rf"{_NUMBER}(?:[ -](?:{'|'.join(_SCALES)}))?"
_TO = r"\s*(?:to|-|and|or)\s*"
_AT_LEAST = re.compile(r"(?:at least|more than|over|above|no (?:less|fewer) than|after|since|≥|>)\s*")
_AT_MOST = re.compile(r"(?:at most|up to|(?:less|fewer) than|under|below|no more than|before|until|≤|<)\s*")
_ABOUT = re.compile(r"(?:(?:about|around|approximately|roughly|some|nearly|almost|circa|an? estimated) |[~≈] ?)+")
_FROM = re.compile(r"(?:between|from) ")
_FRACTION = re.compile("[¼-¾⅐-⅞]")
_ODDS = re.compile(
    rf"(?P<part>{_SCALED})(?: in | out of |(?P<per> per |/))(?P<whole>{_SCALED})"
    rf"(?:{_TO}(?:1 in )?(?P<other_whole>{_SCALED}))?(?: [^\d]*)?"
)
# A digit belongs to a unit at its end (m2), or in a word that begins with letters (CO2, PM2.5).
_DIGITS_OF_UNIT = re.compile(r"(?<=[ /(])[^\W\d_]+\d[\w.]*|(?<=[^\W\d_^])[23]\Z|(?<=\^)[23]\Z")
_RATE = re.compile(
    rf"(?P<counted>.+?)(?: ?(?P<slash>/) ?| per )(?:(?P<whole>{_SCALED})(?:\Z| ?(?=[^\W\d_])))?(?P<of>[^\W\d_].*)?"
)
_AMOUNT = re.compile(
    rf"(?P<currency>(?:us)?[$£€¥₹] ?)?(?P<number>{_SCALED})"
    rf"(?: ?%?{_TO}(?:(?:us)?[$£€¥₹] ?)?(?P<other_number>{_SCALED}))?(?P<unit>[^\d].*)?"
)
_DECADE = re.compile(r"(?:the )?(?P<first_year>[12]\d\d0)s")
_PART = re.compile(r"(?:the )?(?:early|mid|late)(?:[- ]to[- ](?:mid|late))?[- ]")
"""A part of a year, month or decade, which stands for the whole."""


class ValueInterval(NamedTuple):
    """All values from `low` to `high`, in the base unit of their kind; None where there is no limit.

    Dates count in days from the beginning of the first day to the end of the last one.
    """

    low: Fraction | None
    high: Fraction | None
    kind: str
    """Values of one kind are comparable: `date`, `share`, `length`, ..., or the name of a unit without a conversion."""
    stated: Fraction | None = None
    """The value as written or computed, if it is not the middle."""

    @property
    def is_bounded(self) -> bool:
        return self.low is not None and self.high is not None

    @property
    def corners(self) -> tuple[Fraction, Fraction]:
        """The lower and the upper limit; accessing it raises ValueError if one is missing."""
        if self.low is None or self.high is None:
            raise ValueError("the interval is open")
        return self.low, self.high

    @property
    def value(self) -> Fraction:
        """The value as stated, without a margin for rounding; accessing it raises ValueError if a limit is missing."""
        low, high = self.corners
        return (low + high) / 2 if self.stated is None else self.stated

    def lies_below(self, later: "ValueInterval") -> bool:
        if self.high is None or later.low is None:
            return False
        # The end of one date is the beginning of the next, but the next is later.
        touches = self.kind == DATE and self.high == later.low
        return touches or self.high < later.low


def read_interval(text: str, *, is_exact: bool = False) -> ValueInterval | None:
    """Return the values that a text allows, or None if it states no single date or amount.

    Args:
        text: a date or an amount with its unit and qualifier, such as "at least 3.5 million people".
        is_exact: whether its numbers are exact. Otherwise each stands for all numbers that round to it.
    """
    if len(text) > _LONGEST or _FRACTION.search(text):
        return None
    plain = unicodedata.normalize("NFKC", text).casefold().replace("–", "-").replace("−", "-")
    plain = unify_forms(" ".join(plain.split()).strip(" .;"))
    plain = _MILLIONS_WITH_DOTS.sub(lambda match: match[0].replace(".", ""), plain)
    at_least, at_most = _AT_LEAST.match(plain), _AT_MOST.match(plain)
    if bound := at_least or at_most:
        plain = plain[bound.end() :]
    about = _ABOUT.match(plain)
    plain = _FROM.sub("", plain[about.end() if about else 0 :], count=1)
    digits = 0 if is_exact or bound else 1 if about else 2
    read = _read_odds if _ODDS.fullmatch(plain) else _read_amount
    interval = _read_dates(plain) or read(plain, digits)
    if interval is None or bound is None:
        return interval
    if interval.kind == DATE and bound[0].strip() == "at least":  # "since at least 1875": in that year or earlier
        return interval._replace(low=None)
    # "After 1875" begins where the year ends; "since 1875" where it begins.
    excludes = interval.kind == DATE and bound[0].strip() in ("after", "before")
    if at_least:
        return interval._replace(low=interval.high if excludes else interval.low, high=None)
    return interval._replace(low=None, high=interval.low if excludes else interval.high)


def read_date(text: str) -> Date | None:
    """Return the date that the text consists of, or None if it says anything else."""
    bare = text.strip(" .;")
    return next((day for day in dates(bare) if day.span == (0, len(bare))), None)


def _read_dates(plain: str) -> ValueInterval | None:
    if part := _PART.match(plain):
        plain = plain[part.end() :]
    if decade := _DECADE.fullmatch(plain):
        first = int(decade["first_year"])
        return _span_dates(Date(first, 0, 0, Span(0, 0)), Date(first + 9, 0, 0, Span(0, 0)))
    titled = plain.title()  # `dates` knows months by their capitals
    if day := read_date(titled):
        return _span_dates(day, day)
    ends = dates(titled)
    if len(ends) != 2 or titled[: ends[0].span.start].strip() or titled[ends[1].span.end :].strip():
        return None
    between = plain[ends[0].span.end : ends[1].span.start]
    return _span_dates(*ends) if re.fullmatch(_TO, between) else None


def _span_dates(first: Date, last: Date) -> ValueInterval | None:
    try:
        begin = date(first.year, first.month or 1, first.day or 1).toordinal()
        if last.day:
            end = date(last.year, last.month, last.day).toordinal() + 1
        else:
            year, month = (last.year, last.month + 1) if 0 < last.month < 12 else (last.year + 1, 1)
            end = date(year, month, 1).toordinal()
    except ValueError:
        return None
    return ValueInterval(Fraction(begin), Fraction(end), DATE) if begin < end else None


def _read_odds(plain: str, digits: int) -> ValueInterval | None:
    """Read "1 in 36,000", "2 per 100,000" or "1 in 15,000 to 40,000" as a share."""
    match = _ODDS.fullmatch(plain)
    if match is None:
        return None
    # One side is the unit of the rate and exact: the 1 of "1 in 36,000", the 100,000 of "2 per 100,000".
    base = _read_range(match["whole"], match["other_whole"], 0 if match["per"] else digits)
    part = _round_limits(match["part"], 0 if match["part"] == "1" else digits)
    if not 0 < part[1] <= base[0]:
        return None
    # The limits of a quotient lie unevenly around it.
    ratio = None if match["other_whole"] else (part[0] + part[1]) / (base[0] + base[1])
    return ValueInterval(part[0] / base[1], part[1] / base[0], SHARE, ratio)


def _read_amount(plain: str, digits: int) -> ValueInterval | None:
    match = _AMOUNT.fullmatch(plain)
    if match is None:
        return None
    unit = _resolve_unit(f"{match['currency'] or ''}{match['unit'] or ''}")
    if unit is None:
        return None
    kind, size, is_counted = unit
    number = match["number"].replace(",", "")
    # A count that ends in no zero is exact, and so is a small one.
    is_sharp = is_counted and digits != 1 and number.isdecimal() and (number[-1] != "0" or int(number) < _ROUND_COUNT)
    low, high = _read_range(match["number"], match["other_number"], 0 if is_sharp else digits)
    return ValueInterval(low * size, high * size, kind)


def _read_range(number: str, upper: str | None, digits: int) -> tuple[Fraction, Fraction]:
    """Return the limits of one number, or of a range, whose numbers are exact."""
    if upper is None:
        return _round_limits(number, digits)
    (first, _), (last, _) = _round_limits(number, 0), _round_limits(upper, 0)
    return min(first, last), max(first, last)


def _resolve_unit(text: str) -> tuple[str, Fraction, bool] | None:
    """Return the kind of a unit, its size in the base unit, and whether it counts whole things.

    A rate such as "deaths per 100,000 live births" is of the kind "deaths/live births". Return None if the text has
    other numbers, or states the amount a second time ("5 km/3 mi").
    """
    unit = text.strip()
    if known_unit := _look_up_unit(unit):
        return known_unit
    rate = _RATE.fullmatch(text)
    if re.search(r"\d", _DIGITS_OF_UNIT.sub("", text.replace(rate["whole"], "") if rate and rate["whole"] else text)):
        return None
    if rate and (rate["whole"] or rate["of"]):
        return _resolve_rate(rate)
    measure, of, thing = unit.partition(" of ")
    if of and (known_unit := _look_up_unit(measure)):
        kind, size, is_counted = known_unit
        return f"{kind} of {thing}", size, is_counted
    return unit, Fraction(1), True


def _resolve_rate(rate: re.Match[str]) -> tuple[str, Fraction, bool] | None:
    upper, lower = rate["counted"].strip(), (rate["of"] or "").strip()
    first, second = _look_up_unit(upper), _look_up_unit(lower)
    if rate["slash"] and rate["whole"] and first and second and first[0] == second[0]:
        return None
    base = _round_limits(rate["whole"], 0)[0] if rate["whole"] else Fraction(1)
    return (f"{upper}/{lower}", 1 / base, False) if base > 0 else None


def _look_up_unit(unit: str) -> tuple[str, Fraction, bool] | None:
    if unit in ("%", "percent", "per cent", "pct"):
        return SHARE, Fraction(1, 100), False
    one_unit = quantity(f"1 {unit}") if unit else None
    if one_unit is None or one_unit.unit is None:
        return None
    kind, size = one_unit.unit
    return kind, size, kind == "people" or (kind.endswith("s") and kind not in _MEASURES)


def _round_limits(number: str, digits: int) -> tuple[Fraction, Fraction]:
    # `digits` leading digits are significant even if they are zeros; 0: the number is exact.
    scale = next((size for word, size in _SCALES.items() if number.endswith(word)), 1)
    written = re.sub(r"[^\d.]", "", number)
    value = Fraction(written) * scale * (-1 if number.startswith("-") else 1)
    if not digits:
        return value, value
    integer, _, decimals = written.partition(".")
    zeros = 0 if decimals else min(len(integer) - len(integer.rstrip("0")), max(0, len(integer) - digits))
    half = Fraction(10**zeros, 10 ** len(decimals)) * scale / 2
    return value - half, value + half
