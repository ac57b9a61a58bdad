"""When a date or a number in a text is one that is asked for, however exactly and in whatever form both are written."""

import re
from fractions import Fraction
from math import isfinite
from typing import NamedTuple

from pipeline.agents.grading import DAY
from pipeline.agents.judge import ABOUT, rounds_to
from pipeline.reward.equality import quantity
from pipeline.text import SINGLE, Date, Number, dates, numbers
from pipeline.text.scripts import ascii_digits

_DAYS = 31
_MANY, _NEXT = 10_000, 2_000
"""From when a number in hundreds may be a rounded one, and the part of a number that nobody minds."""
_ROOM = 30
"""Characters after a number in which its unit stands."""
_CURRENCIES = "$£€¥₹"
_WORD = re.compile(rf"[{SINGLE}{_CURRENCIES}%°]|[^\W_{SINGLE}]+")
_ABOUT = re.compile(rf"\b(?:{ABOUT}|nearly|almost|over|than)\s+\Z", re.IGNORECASE)


class Amount(NamedTuple):
    number: Fraction
    unit: tuple[str, Fraction] | None
    """Its kind and size, if it is a known one."""
    about: bool
    """Does the text itself say that it is rounded?"""


def dated(text: str) -> list[Date]:
    """As `text.dates`, in the digits of any script."""
    return dates(ascii_digits(text))


def agree(one: Date, other: Date) -> bool:
    """Are they one as far as both are given?"""
    return all(a == b or not (a and b) for a, b in zip(one[:3], other[:3], strict=True))


def told_by(said: Date, known: Date) -> bool:
    """Is it the known date, or less of it?"""
    return all(part in (0, whole) for part, whole in zip(said[:3], known[:3], strict=True))


def counted(text: str) -> list[Number]:
    """The numbers of a text but for the days of its dates."""
    days = [*(date.span for date in dated(text) if date.day), *(found.span() for found in DAY.finditer(text))]
    return [
        one
        for one in numbers(text)
        if one.value > _DAYS or not any(start <= one.span.start and one.span.end <= end for start, end in days)
    ]


def amounts(text: str) -> list[Amount]:
    """The numbers of a text, each with what it counts."""
    return [_amount(text, number) for number in numbers(text) if isfinite(number.value)]


def _amount(text: str, number: Number) -> Amount:
    start, end = number.span
    ends = [end, *(end + word.end() for word in _WORD.finditer(text[end : end + _ROOM]))]
    start -= text[:start].endswith(tuple(_CURRENCIES))
    read = next(filter(None, (quantity(text[start:stop]) for stop in reversed(ends))), None)
    value, unit = (read.number, read.unit) if read else (Fraction(str(number.value)), None)
    return Amount(value, unit, _ABOUT.search(text[:start]) is not None)


def of_kind(one: Amount, other: Amount) -> bool:
    """May both count the same? What a bare number counts goes without saying."""
    return not (one.unit and other.unit) or one.unit[0] == other.unit[0]


def same_amount(one: Amount, other: Amount) -> bool:
    """Are they equal in whatever unit, or does one round to the other?"""
    if not of_kind(one, other):
        return False
    ratio = one.unit[1] / other.unit[1] if one.unit and other.unit else Fraction(1)
    return (
        one.number * ratio == other.number or _rounds(one.number * ratio, other) or _rounds(other.number / ratio, one)
    )


def _rounds(exact: Fraction, said: Amount) -> bool:
    """A whole number counts as another one, rounded, only where that is said, or it is large, or next to it: 100 games
    are no 104, and 8,850 metres are 8,848."""
    close = abs(exact - said.number) * _NEXT <= said.number or (abs(exact - said.number) < 1 and exact.denominator > 1)
    by_itself = close or said.number.denominator > 1 or (said.number >= _MANY and said.number % 100 == 0)
    return rounds_to(exact, said.number) and (said.about or by_itself)
