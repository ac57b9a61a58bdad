"""The figures of a run, as page, card and command line show them; `Figures` are what all three share.

Shares carry Wilson's 95 % interval, since most of them stand on few cases.
"""

import math
from collections.abc import Mapping

from pydantic import Field

from pipeline.dataset.signatures import Signature
from pipeline.llm.ledger import Spending, Spent
from pipeline.types import Data, Lineage, Usage

_Z = 1.959964


class Share(Data):
    part: int
    whole: int

    @property
    def value(self) -> float:
        return self.part / self.whole if self.whole else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval, 95 %."""
        if not self.whole:
            return 0.0, 1.0
        n, p = self.whole, self.value
        middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        reach = _Z / (1 + _Z**2 / n) * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n))
        return max(0.0, middle - reach), min(1.0, middle + reach)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.part:,} of {self.whole:,} ({self.value:.0%}, 95 % interval {low:.0%} to {high:.0%})"


class Count(Data):
    name: str
    count: int


def counted(counts: Mapping[str, int]) -> tuple[Count, ...]:
    """Largest first, equal ones by name."""
    return tuple(Count(name=name, count=n) for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def short(amount: float | None, digits: int = 0) -> str:
    """For a person; a dash where there is nothing to tell."""
    return "–" if amount is None else f"{amount:,.{digits}f}"


def percent(share: float | None, digits: int = 0) -> str:
    return "–" if share is None else f"{share:.{digits}%}"


class Target(Data):
    """All seeds of one wanted number of steps. The measured figures are those of fresh rollouts."""

    steps: int
    planned: int
    accepted: int
    below_target: int
    difficulty: tuple[Count, ...]
    """Measured least steps of what was confirmed, accepted or below target."""
    mean_difficulty: float | None
    """Of the accepted pairs, as the solve rate."""
    mean_solve_rate: float | None


class Review(Data):
    """What people said of a random sample of the accepted pairs."""

    items: int
    precision: Share
    """Questions that are clear and whose answer is the one right one, of those that were marked."""
    unsure: int


class Outside(Data):
    """What a run knows beside its records; none of it is under the promise of equal bytes."""

    spent: Spending = Spending()
    dropped: dict[str, int] = Field(default_factory=dict)
    """Passages that the seed filter passed over, by reason, while it drew the seeds of the plan."""
    review: Review | None = None


class Cost(Data):
    """What one role took: by the records, and what was really paid for where that is known."""

    role: str
    usage: Usage
    spent: Spent


class Controls(Data):
    """What the drafts say that ran to full K although a check had sent them back."""

    false_alarms: Share
    """Of the controls that the audit had failed, those that full K would have made candidates."""
    early_stop: Share
    """Of the controls that the early stop had cut, those for which full K names another cause."""
    rollouts_saved: float | None
    """Mean rollouts per such control that the early stop would not have run."""


class Figures(Data):
    planned: int
    accepted: int
    rejected: int
    failed: int
    dropped: tuple[Count, ...]
    """Passages that the seed filter passed over, by reason."""
    reasons: tuple[Count, ...]
    funnel: tuple[Count, ...]
    targets: tuple[Target, ...]
    solve_rates: tuple[Count, ...]
    """Of the accepted pairs."""
    signatures: tuple[Signature, ...]
    """By side."""
    confirmed: Share
    """Candidates that fresh rollouts confirmed, at or above the target."""
    missing: tuple[Count, ...]
    """Accepted pairs that lack rollouts of an optional stage, by stage."""
    review: Review | None
    costs: tuple[Cost, ...]
    paid: Spending
    lineage: Lineage | None

    @property
    def embedded(self) -> bool:
        """Did the embedded model take part? Then these are figures of the loop, not of the data."""
        return self.lineage is not None and self.lineage.embedded

    @property
    def usage(self) -> Usage:
        return sum((cost.usage for cost in self.costs), Usage())

    @property
    def mean_difficulty(self) -> float | None:
        """Over all accepted pairs, as `mean_solve_rate`."""
        return self._mean([(t.mean_difficulty, t.accepted) for t in self.targets])

    @property
    def mean_solve_rate(self) -> float | None:
        return self._mean([(t.mean_solve_rate, t.accepted) for t in self.targets])

    @staticmethod
    def _mean(weighted: list[tuple[float | None, int]]) -> float | None:
        known = [(value, weight) for value, weight in weighted if value is not None and weight]
        return sum(v * w for v, w in known) / sum(w for _, w in known) if known else None

    def per_pair(self, amount: float) -> float | None:
        return amount / self.accepted if self.accepted else None
