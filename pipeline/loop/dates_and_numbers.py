"""Comparison of dates and numbers in texts, in any form and at any precision."""

import re
from fractions import Fraction
from math import isfinite
from typing import NamedTuple

from pipeline.agents.grading import DAY
from pipeline.agents.judge import ABOUT, rounds_to
from pipeline.reward.equality import quantity
from pipeline.text import SINGLE, Date, Number, dates, numbers
from pipeline.text.scripts import ascii_digits

_LAST_DAY = 31
_LEAST_ROUNDED, _CLOSENESS = 10_000, 2_000
"""A multiple of 100 from 10,000 on may be rounded; two numbers are close if they differ by at most a 2,000th."""
_UNIT_ROOM = 30
"""Characters after a number that are searched for its unit."""
_CURRENCIES = "$£€¥₹"
_WORD = re.compile(rf"[{SINGLE}{_CURRENCIES}%°]|[^\W_{SINGLE}]+")
_ABOUT = re.compile(rf"\b(?:{ABOUT}|nearly|almost|over|than)\s+\Z", re.IGNORECASE)


class Amount(NamedTuple):
    number: Fraction
    unit: tuple[str, Fraction] | None
    """The kind and size of the unit; None if the text has no unit that is known."""
    about: bool
    """Whether the text calls the number rounded."""


def find_dates(text: str) -> list[Date]:
    return dates(ascii_digits(text))


def dates_agree(first: Date, second: Date) -> bool:
    """Return whether year, month and day are equal where both dates have them."""
    return all(a == b or not (a and b) for a, b in zip(first[:3], second[:3], strict=True))


def is_same_or_less_exact(date: Date, reference: Date) -> bool:
    return all(part in (0, exact) for part, exact in zip(date[:3], reference[:3], strict=True))


def find_numbers(text: str) -> list[Number]:
    """Return the numbers of a text, without the days of its dates."""
    days = [*(date.span for date in find_dates(text) if date.day), *(match.span() for match in DAY.finditer(text))]
    return [
        number
        for number in numbers(text)
        if number.value > _LAST_DAY
        or not any(start <= number.span.start and number.span.end <= end for start, end in days)
    ]


def find_amounts(text: str) -> list[Amount]:
    return [_read_amount(text, number) for number in numbers(text) if isfinite(number.value)]


def _read_amount(text: str, number: Number) -> Amount:
    start, end = number.span
    ends = [end, *(end + word.end() for word in _WORD.finditer(text[end : end + _UNIT_ROOM]))]
    start -= text[:start].endswith(tuple(_CURRENCIES))
    longest = next(filter(None, (quantity(text[start:stop]) for stop in reversed(ends))), None)
    value, unit = (longest.number, longest.unit) if longest else (Fraction(str(number.value)), None)
    return Amount(value, unit, _ABOUT.search(text[:start]) is not None)


def may_share_unit(first: Amount, second: Amount) -> bool:
    """Return whether both may count the same. A number without a unit fits every unit."""
    return not (first.unit and second.unit) or first.unit[0] == second.unit[0]


def is_same_amount(first: Amount, second: Amount) -> bool:
    """Return whether two amounts are equal in any unit, or one is the other rounded."""
    if not may_share_unit(first, second):
        return False
    ratio = first.unit[1] / second.unit[1] if first.unit and second.unit else Fraction(1)
    return (
        first.number * ratio == second.number
        or _is_rounded(first.number * ratio, second)
        or _is_rounded(second.number / ratio, first)
    )


def _is_rounded(exact: Fraction, amount: Amount) -> bool:
    """Return whether an amount is the exact number, rounded.

    A whole number must be called rounded, be large or be close: 100 games are not 104, but 8,850 metres are 8,848.
    """
    difference = abs(exact - amount.number)
    is_close = difference * _CLOSENESS <= amount.number or (difference < 1 and exact.denominator > 1)
    is_round = amount.number >= _LEAST_ROUNDED and amount.number % 100 == 0
    may_round = amount.about or is_close or is_round or amount.number.denominator > 1
    return rounds_to(exact, amount.number) and may_round
