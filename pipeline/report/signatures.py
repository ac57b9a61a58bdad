"""The three figures by which the literature tells hard search questions from easy ones, for each split of a data set:
retrievals per solve, the step of the first hit, and whether prior knowledge alone would have done.
"""

from collections.abc import Sequence

from pipeline.process import found_at, measured
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
        self._steps: dict[str, list[int]] = {}
        self._hits: dict[str, list[int]] = {}
        self._rates: dict[str, list[float]] = {}
        self._known: dict[str, list[bool]] = {}

    def add(self, record: Record) -> None:
        side, last = record.seed.side, record.last
        closed = [p for p in last.probes if p.check == "closed_book"] if last else []
        if closed:
            self._known.setdefault(side, []).append(any(probe.right for probe in closed))
        for draft, rollout, verdict in measured(record):
            if verdict.correct:
                at = found_at(draft, rollout, verdict)
                self._steps.setdefault(side, []).append(verdict.steps)
                self._rates.setdefault(side, []).append((len(at) - at.count(None)) / len(at))
                self._hits.setdefault(side, []).extend([verdict.hit_step] if verdict.hit_step is not None else [])

    def rows(self) -> tuple[Signature, ...]:
        """The side to train on first."""
        return tuple(
            Signature(
                side=side,
                solves=len(self._steps[side]),
                retrievals_per_solve=_mean(self._steps[side]),
                first_hit=_mean(self._hits[side]),
                hit_rate=_mean(self._rates[side]),
                prior_knowledge=_mean(self._known.get(side, [])),
            )
            for side in sorted(self._steps, key=lambda side: side != "train")
        )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
