"""What the distractors of a run did, by kind: written, rejected and why, met, believed, and one traced example."""

from collections import Counter

from pipeline import types
from pipeline.encounters import encounters
from pipeline.report.figures import Count, Example, Opposed, Share
from pipeline.types import Distractor, Draft, Outcome, Record, Status

_TELLING = (Outcome.MISLED, Outcome.RECOVERED, Outcome.RESISTED, Outcome.MET)
"""Of two examples, the one with the earlier outcome is shown."""


class Opposition:
    """Counts accepted records, one at a time."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Counts] = {}

    def add(self, record: Record) -> None:
        opposition = record.opposition
        if not opposition or not record.draft or record.status is not Status.ACCEPTED:
            return
        for distractor in opposition.distractors:
            counts = self._kinds.setdefault(distractor.kind, _Counts())
            counts.written += 1
            counts.reasons.update([distractor.reason] if distractor.reason else [])
        for kind in {distractor.kind for distractor in opposition.used}:
            mine = [distractor for distractor in opposition.used if distractor.kind == kind]
            self._kinds[kind].tried(record.draft, opposition, mine)

    def rows(self) -> tuple[Opposed, ...]:
        """By the names of the kinds; none where no distractor was written."""
        return tuple(self._kinds[kind].row(kind) for kind in sorted(self._kinds))


class _Counts:
    """Of one kind. Rates are of the pairs whose overlay held one of it, whatever else it held."""

    def __init__(self) -> None:
        self.written = self.used = self.shown = self.met = self.misled = 0
        self.reasons: Counter[str] = Counter()
        self.plain: Counter[bool] = Counter()
        self.opposed: Counter[bool] = Counter()
        self.example: Example | None = None

    def tried(self, draft: Draft, opposition: types.Opposition, mine: list[Distractor]) -> None:
        self.used += len(mine)
        self.plain.update(verdict.correct for verdict in opposition.plain_verdicts)
        self.opposed.update(verdict.correct for verdict in opposition.opposed_verdicts)
        for rollout, verdict in zip(opposition.opposed, opposition.opposed_verdicts, strict=True):
            found = encounters(draft, mine, rollout, correct=verdict.correct)
            self.shown += 1
            self.met += bool(found)
            self.misled += any(met.outcome is Outcome.MISLED for met in found)
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

    def row(self, kind: str) -> Opposed:
        return Opposed(
            kind=kind,
            written=self.written,
            used=self.used,
            rejected=tuple(Count(name=name, count=n) for name, n in self.reasons.most_common()),
            met=Share(part=self.met, whole=self.shown),
            misled=Share(part=self.misled, whole=self.met),
            plain=Share(part=self.plain[True], whole=self.plain.total()),
            opposed=Share(part=self.opposed[True], whole=self.opposed.total()),
            example=self.example,
        )


def _rank(outcome: Outcome) -> int:
    return _TELLING.index(outcome)
