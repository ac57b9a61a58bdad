"""The target that is a band of solve rates."""

from math import ceil, floor
from typing import NamedTuple

from pipeline.types.record import Label

_ROUNDING = 1e-9
"""0.6 is 3 of 5, whatever their quotient is in binary."""


class Band(NamedTuple):
    """Least and greatest solve rate, over so many tries."""

    low: float
    high: float
    tries: int

    @property
    def counts(self) -> range:
        """How many of the tries may be correct; empty where no share of so many lies in the band."""
        return range(ceil(self.low * self.tries - _ROUNDING), floor(self.high * self.tries + _ROUNDING) + 1)

    def check(self, most: int) -> None:
        """Raises ValueError where no share of the tries lies in the band; `most` is how many there can be."""
        if self.counts:
            return
        enough = next((n for n in range(1, most + 1) if self._replace(tries=n).counts), None)
        advice = f"set loop.rollouts={enough}" if enough else "take a wider one"
        raise ValueError(f"no share of {self.tries} tries lies within {self.low:g}-{self.high:g}: {advice}")

    def label(self, right: int, tried: int) -> Label | None:
        """What the first so many tries say, of which `right` were correct; None while the others could change it."""
        least, most = self.counts[0], self.counts[-1]
        at_most = right + self.tries - tried
        if right > most:
            return Label.TOO_EASY
        if at_most < least:
            return Label.UNSOLVED
        return Label.CANDIDATE if right >= least and at_most <= most else None

    def due(self, right: int, tried: int, *, whole: bool = False) -> int:
        """How many more tries there must be, however they end, before `label` can say anything; with `whole`, before
        it can say that the band is missed."""
        least, most, wrong = self.counts[0], self.counts[-1], tried - right
        ways = [self.tries - tried, most + 1 - right, self.tries - least + 1 - wrong]
        if not whole:
            ways.append(max(0, least - right) + max(0, self.tries - most - wrong))
        return max(0, min(ways))

    def __str__(self) -> str:
        return f"{100 * self.low:g} to {100 * self.high:g} %"
