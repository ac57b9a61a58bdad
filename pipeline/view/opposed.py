"""What the distractors of a run did, by kind: written, rejected and why, met, believed, and one traced example."""

from collections import Counter, defaultdict
from typing import NamedTuple

from pipeline import types
from pipeline.dataset.figures import percent
from pipeline.distractors.encounters import encounters
from pipeline.types import Call, Distractor, Draft, Outcome, Record, Status

_TELLING = (Outcome.MISLED, Outcome.RECOVERED, Outcome.RESISTED, Outcome.MET)
"""Of two examples, the one with the earlier outcome is shown."""


class Example(NamedTuple):
    """One rollout that met a distractor."""

    question: str
    answer: str
    distractor: Distractor
    calls: tuple[Call, ...]
    step: int
    """The step (from 1) that first brought it."""
    said: str
    outcome: Outcome


class Opposed:
    """Distractors of one kind, and the paired rollouts of the pairs whose overlay held one, whatever else it held.

    A counter of truths says of how many rollouts something is true, and of how many not.
    """

    def __init__(self) -> None:
        self.written = self.used = 0
        self.reasons: Counter[str] = Counter()
        """Of the rejected, the check that failed; `unwritten` where a try of the writer gave nothing to check."""
        self.met: Counter[bool] = Counter()
        """Of the rollouts with the overlay, whether they met one."""
        self.misled: Counter[bool] = Counter()
        """Of those that met one."""
        self.plain: Counter[bool] = Counter()
        self.opposed: Counter[bool] = Counter()
        """Whether they were correct, without and with the overlay."""
        self.example: Example | None = None

    def tried(self, draft: Draft, opposition: types.DistractorEval, mine: list[Distractor]) -> None:
        self.used += len(mine)
        self.plain.update(verdict.correct for verdict in opposition.plain_verdicts)
        self.opposed.update(verdict.correct for verdict in opposition.opposed_verdicts)
        for rollout, verdict in zip(opposition.opposed, opposition.opposed_verdicts, strict=True):
            found = encounters(draft, mine, rollout, correct=verdict.correct)
            self.met[bool(found)] += 1
            if found:
                self.misled[any(met.outcome is Outcome.MISLED for met in found)] += 1
            for met in found:
                if self.example is None or _rank(met.outcome) < _rank(self.example.outcome):
                    distractor = next(d for d in mine if d.id == met.distractor)
                    self.example = Example(
                        question=draft.question,
                        answer=draft.answer,
                        distractor=distractor,
                        calls=rollout.trajectory.calls,
                        step=met.step,
                        said=rollout.answer,
                        outcome=met.outcome,
                    )


class DistractorTally:
    """Counts accepted records, one at a time."""

    def __init__(self) -> None:
        self.kinds: dict[str, Opposed] = defaultdict(Opposed)
        """By name; none where no distractor was written."""

    def add(self, record: Record) -> None:
        opposition = record.opposition
        if not opposition or not record.draft or record.status is not Status.ACCEPTED:
            return
        for distractor in opposition.distractors:
            kind = self.kinds[distractor.kind]
            kind.written += 1
            kind.reasons.update([distractor.reason] if distractor.reason else [])
        for name in opposition.unwritten:
            self.kinds[name].reasons["unwritten"] += 1
        for name in {distractor.kind for distractor in opposition.used}:
            mine = [distractor for distractor in opposition.used if distractor.kind == name]
            self.kinds[name].tried(record.draft, opposition, mine)


def rate(outcomes: Counter[bool]) -> str:
    """The share of those that are true."""
    return percent(outcomes[True] / outcomes.total() if outcomes else None)


def _rank(outcome: Outcome) -> int:
    return _TELLING.index(outcome)
