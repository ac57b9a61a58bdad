"""A share of some cases, with its confidence interval."""

import math

from pipeline.types.data import Data

_Z = 1.959964


class Share(Data):
    part: int
    whole: int

    @property
    def value(self) -> float:
        return self.part / self.whole if self.whole else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's score interval, 95 %."""
        if not self.whole:
            return 0.0, 1.0
        n, p = self.whole, self.value
        middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        reach = _Z / (1 + _Z**2 / n) * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n))
        return max(0.0, middle - reach), min(1.0, middle + reach)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.part:,} of {self.whole:,} ({self.value:.0%}, 95 % interval {low:.0%} to {high:.0%})"
