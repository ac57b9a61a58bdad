"""One figure of two runs and how far apart they are, second minus first, with 95 % intervals."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from pipeline.analysis.estimates import Interval, compact, percent, short
from pipeline.types import Data, Share

Unit = Literal["share", "points", "number", "amount"]
"""`points` are percentage points; an amount is a large number, such as one of tokens."""


class Contrast(Data):
    """One figure of both runs."""

    name: str
    unit: Unit
    first: Interval | None
    second: Interval | None
    difference: Interval | None
    counts: tuple[int, int] | None = None
    """How many there are of each run, where they are counted."""
    cases: int | None = None
    """Seeds that a paired difference rests on."""

    @property
    def clear(self) -> bool:
        """Does the interval of the difference exclude none?"""
        found = self.difference
        return (
            found is not None and found.low is not None and found.high is not None and not found.low <= 0 <= found.high
        )


def in_words(found: Interval | None, unit: Unit, *, signed: bool = False) -> str:
    """A figure with its interval, for a person; `signed` for a difference."""
    if found is None:
        return "–"
    if unit == "share" and signed:
        unit, found = "points", Interval(**{name: None if value is None else 100 * value for name, value in found})
    value = ("+" if signed and found.value > 0 else "") + _said(found.value, unit)
    value += " points" if unit == "points" else ""
    return f"{value} ({_said(found.low, unit)} to {_said(found.high, unit)})" if found.low is not None else value


def _said(value: float | None, unit: Unit) -> str:
    if unit == "share":
        return percent(value)
    return compact(value) if unit == "amount" else short(value, 1 if unit == "points" else 2)


def contrast(name: str, unit: Unit, first: Interval | None, second: Interval | None, **more: Any) -> Contrast:
    apart = second.minus(first) if first and second else None
    return Contrast(name=name, unit=unit, first=first, second=second, difference=apart, **more)


def share(name: str, first: Share, second: Share) -> Contrast:
    found = (Interval.of_share(one) if one.whole else None for one in (first, second))
    return contrast(name, "share", *found, counts=(first.part, second.part))


def shares(
    first: Mapping[str, int],
    second: Mapping[str, int],
    *,
    by_number: bool = False,
    whole: tuple[int, int] | None = None,
) -> tuple[Contrast, ...]:
    """One for each name of either; without `whole`, of the count of the first name."""
    sides = first, second
    names = list(dict.fromkeys((*first, *second)))
    if by_number:
        names.sort(key=lambda name: (-first.get(name, 0) - second.get(name, 0), name))
    whole = whole or (next(iter(first.values()), 0), next(iter(second.values()), 0))
    return tuple(
        share(name, *(Share(part=side.get(name, 0), whole=all_) for side, all_ in zip(sides, whole, strict=True)))
        for name in names
    )


def mean(rows: pl.DataFrame, column: str, least: float = -math.inf, most: float = math.inf) -> Interval | None:
    """Over the rows that have a value; the interval stays within what the mean can be."""
    values = rows[column].drop_nulls().cast(pl.Float64).to_list()
    found = Interval.of(values, [1] * len(values)) if values else None
    if found and found.low is not None and found.high is not None:
        return Interval(value=found.value, low=max(least, found.low), high=min(most, found.high))
    return found
