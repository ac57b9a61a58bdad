"""The three figures by which the literature tells hard search questions from easy ones, for each split of a data set:
retrievals per solve, the step of the first hit, and whether prior knowledge alone would have done.
"""

from collections import defaultdict
from collections.abc import Iterable

from pipeline.dataset.process import hit_rate
from pipeline.types import Data, Record, Verdict


class Signature(Data):
    """Means over the correct rollouts that difficulty rests on; the accepted records of one side."""

    side: str
    solves: int
    retrievals_per_solve: float
    first_hit: float | None
    hit_rate: float
    """Mean share of the hops whose evidence such a rollout saw."""
    prior_knowledge: float | None = None
    """Share of the questions that a try of the closed-book check knew; None where nobody tried."""


class _Sums:
    """Of one side."""

    def __init__(self) -> None:
        self.solves = self.steps = self.hits = self.hit_steps = self.probed = self.known = 0
        self.hit_rates = 0.0


class Signatures:
    """Counts one accepted record at a time."""

    def __init__(self) -> None:
        self._sides: dict[str, _Sums] = defaultdict(_Sums)

    def add(self, record: Record, right: Iterable[Verdict]) -> None:
        """`right` are its correct verdicts, of those that difficulty rests on."""
        sums, last = self._sides[record.seed.side], record.last
        closed = [p.right for p in last.probes if p.check == "closed_book"] if last else []
        if closed:
            sums.probed += 1
            sums.known += any(closed)
        for verdict in right:
            sums.solves += 1
            sums.steps += verdict.steps
            sums.hit_rates += hit_rate(verdict.found_at)
            if verdict.hit_step is not None:
                sums.hits += 1
                sums.hit_steps += verdict.hit_step

    def rows(self) -> tuple[Signature, ...]:
        """The side to train on first."""
        return tuple(
            Signature(
                side=side,
                solves=sums.solves,
                retrievals_per_solve=sums.steps / sums.solves,
                first_hit=sums.hit_steps / sums.hits if sums.hits else None,
                hit_rate=sums.hit_rates / sums.solves,
                prior_knowledge=sums.known / sums.probed if sums.probed else None,
            )
            for side, sums in sorted(self._sides.items(), key=lambda item: item[0] != "train")
            if sums.solves
        )
