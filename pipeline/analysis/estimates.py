"""Counts, means and differences with 95 % intervals, which few cases make necessary, and their format for people."""

import math
from collections.abc import Mapping, Sequence

import polars as pl

from pipeline.types import Data, Share

_Z = 1.959964
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom."""


class Interval(Data):
    """A mean, a ratio or a difference, with its 95 % interval."""

    value: float
    low: float | None = None
    high: float | None = None
    """`low` and `high` are None if there are fewer than two cases or if all are equal."""

    @classmethod
    def of(cls, sums: Sequence[float], counts: Sequence[int]) -> "Interval":
        """Return the ratio of all sums to all counts, with an interval from its linearised variance over cases.

        Cases are the unit, since values of one case, such as the rollouts of a question, resemble each other.

        Args:
            sums: the sum of the values of each case.
            counts: the number of values of each case.
        """
        cases, total = len(sums), sum(counts)
        value = math.fsum(sums) / total
        spread = math.fsum((s - value * n) ** 2 for s, n in zip(sums, counts, strict=True))
        if cases < 2 or math.isclose(spread, 0, abs_tol=1e-9):
            return cls(value=value)
        free = cases - 1
        t = _T[free - 1] if free <= len(_T) else _Z + (_Z**3 + _Z) / (4 * free)
        reach = t * math.sqrt(cases / free * spread) / total
        return cls(value=value, low=value - reach, high=value + reach)

    @classmethod
    def of_share(cls, share: Share) -> "Interval":
        low, high = share.interval
        return cls(value=share.value, low=low, high=high)

    def positive(self) -> "Interval":
        """Return the interval of a non-negative amount, computed on the scale of its logarithm."""
        if self.high is None or self.value <= 0:
            return self
        factor = math.exp((self.high - self.value) / self.value)
        return Interval(value=self.value, low=self.value / factor, high=self.value * factor)

    def minus(self, subtrahend: "Interval") -> "Interval":
        """Return the difference to an independent estimate.

        The interval comes from the method of variance estimates recovery (Zou and Donner 2008), which is Newcombe's for
        two shares and close to Welch's for two means.
        """
        value = self.value - subtrahend.value
        if self.low is None or self.high is None or subtrahend.low is None or subtrahend.high is None:
            return Interval(value=value)
        down = math.hypot(self.value - self.low, subtrahend.high - subtrahend.value)
        up = math.hypot(self.high - self.value, subtrahend.value - subtrahend.low)
        return Interval(value=value, low=value - down, high=value + up)


class Count(Data):
    name: str
    count: int


def short(amount: float | Interval | None, digits: int = 0) -> str:
    """Format a number for people; None is a dash."""
    if isinstance(amount, Interval):
        low, high = short(amount.low, digits), short(amount.high, digits)
        return short(amount.value, digits) + (f" ({low} to {high})" if amount.low is not None else "")
    return "–" if amount is None else f"{amount:z,.{digits}f}"


def compact(amount: float | None) -> str:
    """Format a number in at most five characters: 950, 12.3k, 4.56M."""
    if amount is None:
        return "–"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(amount) >= size * 0.9995:
            scaled = amount / size
            return f"{scaled:.{max(0, 3 - len(str(int(abs(scaled)))))}f}{unit}"
    return f"{amount:,.0f}" if float(amount).is_integer() else f"{amount:.3g}"


def percent(share: float | None, digits: int = 0) -> str:
    return "–" if share is None else f"{share:.{digits}%}"


def count_values(rows: pl.LazyFrame, column: str) -> tuple[Count, ...]:
    return largest_first(dict(rows.group_by(column).len().collect().rows()))


def largest_first(counts: Mapping[str, int]) -> tuple[Count, ...]:
    """Sort the counts by size, and equal ones by name."""
    return tuple(Count(name=name, count=n) for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
