"""A figure of two runs and their difference, second minus first, with 95 % intervals."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from pipeline.analysis.estimates import Interval, compact, percent, short
from pipeline.types import Data, Share

Unit = Literal["share", "points", "number", "amount"]
"""`points` are percentage points; an `amount` is a large number, such as one of tokens."""


class Contrast(Data):
    """A figure of both runs, with their difference."""

    name: str
    unit: Unit
    first: Interval | None
    second: Interval | None
    difference: Interval | None
    counts: tuple[int, int] | None = None
    """The number of each run, if the figure is a count."""
    cases: int | None = None
    """Number of seeds behind a paired difference."""


def in_words(figure: Interval | None, unit: Unit, *, signed: bool = False) -> str:
    if figure is None:
        return "–"
    if unit == "share" and signed:
        unit, figure = "points", Interval(**{name: None if value is None else 100 * value for name, value in figure})
    value = ("+" if signed and figure.value > 0 else "") + _format(figure.value, unit)
    value += " points" if unit == "points" else ""
    return f"{value} ({_format(figure.low, unit)} to {_format(figure.high, unit)})" if figure.low is not None else value


def _format(value: float | None, unit: Unit) -> str:
    if unit == "share":
        return percent(value)
    return compact(value) if unit == "amount" else short(value, 1 if unit == "points" else 2)


def contrast(name: str, unit: Unit, first: Interval | None, second: Interval | None, **fields: Any) -> Contrast:
    apart = second.minus(first) if first and second else None
    return Contrast(name=name, unit=unit, first=first, second=second, difference=apart, **fields)


def share(name: str, first: Share, second: Share) -> Contrast:
    intervals = (Interval.of_share(part) if part.whole else None for part in (first, second))
    return contrast(name, "share", *intervals, counts=(first.part, second.part))


def shares(
    first: Mapping[str, int],
    second: Mapping[str, int],
    *,
    by_number: bool = False,
    totals: tuple[int, int] | None = None,
) -> tuple[Contrast, ...]:
    """Return a contrast for each name in either mapping, as shares of `totals` or else of the first name's counts."""
    sides = first, second
    names = list(dict.fromkeys((*first, *second)))
    if by_number:
        names.sort(key=lambda name: (-first.get(name, 0) - second.get(name, 0), name))
    totals = totals or (next(iter(first.values()), 0), next(iter(second.values()), 0))
    return tuple(
        share(name, *(Share(part=side.get(name, 0), whole=total) for side, total in zip(sides, totals, strict=True)))
        for name in names
    )


def mean(rows: pl.DataFrame, column: str, least: float = -math.inf, most: float = math.inf) -> Interval | None:
    """Return the mean of the values of a column. Its interval is limited to `least` and `most`."""
    values = rows[column].drop_nulls().cast(pl.Float64).to_list()
    interval = Interval.of(values, [1] * len(values)) if values else None
    if interval and interval.low is not None and interval.high is not None:
        return Interval(value=interval.value, low=max(least, interval.low), high=min(most, interval.high))
    return interval
