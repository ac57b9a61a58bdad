"""A target that is a band of solve rates."""

from math import ceil, floor
from typing import NamedTuple

from pipeline.types.record import Label

_ROUNDING = 1e-9
"""A tolerance, so that 3 of 5 is 0.6 in spite of binary rounding."""


class TargetRange(NamedTuple):
    """The least and greatest solve rate over a number of tries."""

    low: float
    high: float
    tries: int

    @property
    def counts(self) -> range:
        """Return the numbers of correct tries that lie in the band; empty if there are none."""
        return range(ceil(self.low * self.tries - _ROUNDING), floor(self.high * self.tries + _ROUNDING) + 1)

    def check(self, most: int) -> None:
        """Raise ValueError if no share of the tries lies in the band. `most` is the greatest number of tries."""
        if self.counts:
            return
        enough = next((n for n in range(1, most + 1) if self._replace(tries=n).counts), None)
        advice = f"set loop.rollouts={enough}" if enough else "take a wider one"
        raise ValueError(f"no share of {self.tries} tries lies within {self.low:g}-{self.high:g}: {advice}")

    def label(self, right: int, tried: int) -> Label | None:
        """Return the label after `tried` tries, of which `right` were correct.

        It is None if later tries could change it.
        """
        least, most = self.counts[0], self.counts[-1]
        at_most = right + self.tries - tried
        if right > most:
            return Label.TOO_EASY
        if at_most < least:
            return Label.UNSOLVED
        return Label.CANDIDATE if right >= least and at_most <= most else None

    def due(self, right: int, tried: int, *, whole: bool = False) -> int:
        """Return how many more tries are needed at least, however they end, before `label` returns a label.

        Args:
            right: the number of correct tries so far.
            tried: the number of tries so far.
            whole: whether to wait for the label that the band is missed.
        """
        least, most, wrong = self.counts[0], self.counts[-1], tried - right
        ways = [self.tries - tried, most + 1 - right, self.tries - least + 1 - wrong]
        if not whole:
            ways.append(max(0, least - right) + max(0, self.tries - most - wrong))
        return max(0, min(ways))

    def __str__(self) -> str:
        return f"{100 * self.low:g} to {100 * self.high:g} %"
