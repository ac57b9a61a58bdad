"""The three figures by which the literature tells hard search questions from easy ones, for each split of a data set:
retrievals per solve, the step of the first hit, and whether prior knowledge alone would have done.
"""

from collections import defaultdict
from collections.abc import Sequence

from pipeline.process import found_at, hit_rate, measured
from pipeline.types import Data, Record


class Signature(Data):
    """Means over the correct rollouts that difficulty rests on; the accepted records of one side."""

    side: str
    solves: int
    retrievals_per_solve: float | None
    first_hit: float | None
    hit_rate: float | None
    """Mean share of the hops whose evidence such a rollout saw."""
    prior_knowledge: float | None = None
    """Share of the questions that a try of the closed-book check knew; None where nobody tried."""


class Signatures:
    """Counts one accepted record at a time."""

    def __init__(self) -> None:
        self._steps: dict[str, list[int]] = defaultdict(list)
        self._hits: dict[str, list[int]] = defaultdict(list)
        self._rates: dict[str, list[float]] = defaultdict(list)
        self._known: dict[str, list[bool]] = defaultdict(list)

    def add(self, record: Record) -> None:
        side, last = record.seed.side, record.last
        closed = [p.right for p in last.probes if p.check == "closed_book"] if last else []
        if closed:
            self._known[side].append(any(closed))
        steps, hits, rates = self._steps[side], self._hits[side], self._rates[side]
        for draft, rollout, verdict in measured(record):
            if verdict.correct:
                at = found_at(draft, rollout, verdict)
                steps.append(verdict.steps)
                rates.append(hit_rate(at))
                if verdict.hit_step is not None:
                    hits.append(verdict.hit_step)

    def rows(self) -> tuple[Signature, ...]:
        """The side to train on first."""
        sides = [side for side, steps in self._steps.items() if steps]
        return tuple(
            Signature(
                side=side,
                solves=len(self._steps[side]),
                retrievals_per_solve=_mean(self._steps[side]),
                first_hit=_mean(self._hits[side]),
                hit_rate=_mean(self._rates[side]),
                prior_knowledge=_mean(self._known[side]),
            )
            for side in sorted(sides, key=lambda side: side != "train")
        )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
