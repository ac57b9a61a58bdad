"""Counts the figures that card, page and command line share, one record at a time: a run of any length fits in memory.

An export counts every record, so that all that the page alone shows is counted elsewhere (`Rounds`, `Opposition`,
`Variety`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from pipeline.llm.ledger import Spent
from pipeline.report.figures import Cost, Count, Figures, Outside, Share, Target, counted
from pipeline.report.signatures import Signatures
from pipeline.types import Lineage, Record, Status, correct
from pipeline.types.rollout import UsageCounter

ROLES = {
    "curator": ("explore",),
    "generator": ("propose", "compose"),
    "refiner": ("revise",),
    "solver": ("answer",),
    "teacher": ("teach",),
    "judge": ("verdict",),
    "reader": ("read", "trace", "weigh"),
    "writer": ("write",),
}
"""The roles of a record's usage, and how the ledger calls what they do."""
_NOTHING = Outside()
STAGES = ("drafted", "audited", "solved", "candidate", "confirmed", "accepted")


class Tally:
    """Counts records; `figures` may be asked for at any time."""

    def __init__(self) -> None:
        self.status: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.reached: Counter[tuple[bool, ...]] = Counter()
        """By which of `STAGES`, in their order, a record reached."""
        self.by_target: dict[int, Counter[str]] = defaultdict(Counter)
        self.measured: dict[int, Counter[int]] = defaultdict(Counter)
        self.of_accepted: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        """By target: difficulty, correct rollouts, all rollouts."""
        self.candidates = 0
        """Those that fresh rollouts measured again, and how many of them these confirmed."""
        self.confirmed = 0
        self.usages = {role: UsageCounter() for role in ROLES}
        self.signatures = Signatures()
        self.lineage: Lineage | None = None

    def add(self, record: Record) -> None:
        accepted = record.status is Status.ACCEPTED
        self.lineage = self.lineage or record.lineage
        self.status[record.status] += 1
        if not accepted:
            self.reasons[record.reason] += 1
        record.count_usage(self.usages)
        self._stages(record, accepted=accepted)
        self._target(record, accepted=accepted)
        if accepted and record.draft:
            self.signatures.add(record)

    def _stages(self, record: Record, *, accepted: bool) -> None:
        """Each record counts for the furthest stage that any of its drafts reached, and all before it."""
        drafted = [past for past in record.rounds if past.draft]
        sound = [past for past in drafted if not past.unsound]
        solved = any(correct(past.verdicts) for past in sound)
        confirmed, fresh = record.confirmed, bool(record.confirmation_verdicts)
        self.reached[bool(drafted), bool(sound), solved, confirmed or fresh, confirmed, accepted] += 1
        if fresh:
            self.candidates += 1
            self.confirmed += confirmed

    def _target(self, record: Record, *, accepted: bool) -> None:
        target, verdicts = record.seed.target_steps, record.measured
        counts = self.by_target[target]
        counts["planned"] += 1
        counts["accepted" if accepted else record.reason] += 1
        steps = [verdict.steps for verdict in correct(verdicts)]
        if steps and (accepted or record.confirmation_verdicts):
            difficulty = min(steps)
            self.measured[target][difficulty] += 1
            if accepted:
                self.of_accepted[target].append((difficulty, len(steps), len(verdicts)))

    def figures(self, outside: Outside = _NOTHING) -> Figures:
        planned = self.status.total()
        return Figures(
            planned=planned,
            accepted=self.status[Status.ACCEPTED],
            rejected=self.status[Status.REJECTED],
            failed=self.status[Status.FAILED],
            dropped=counted(outside.dropped),
            reasons=counted(self.reasons),
            funnel=(Count(name="planned", count=planned), *self._funnel()),
            targets=tuple(self._target_row(steps) for steps in sorted(self.by_target)),
            solve_rates=self._solve_rates(),
            signatures=self.signatures.rows(),
            confirmed=Share(part=self.confirmed, whole=self.candidates),
            review=outside.review,
            costs=tuple(
                Cost(role=role, usage=usage, spent=_spent(outside, ROLES[role]))
                for role, usage in ((role, spent.sum()) for role, spent in self.usages.items())
                if usage.calls or role not in ("curator", "teacher", "writer")
            ),
            paid=outside.spent,
            lineage=self.lineage,
        )

    def _funnel(self) -> Iterator[Count]:
        for place, name in enumerate(STAGES):
            yield Count(name=name, count=sum([n for reached, n in self.reached.items() if reached[place]]))

    def _target_row(self, steps: int) -> Target:
        counts, accepted = self.by_target[steps], self.of_accepted[steps]
        return Target(
            steps=steps,
            planned=counts["planned"],
            accepted=counts["accepted"],
            below_target=counts["below_target"],
            difficulty=tuple(Count(name=str(value), count=n) for value, n in sorted(self.measured[steps].items())),
            mean_difficulty=_mean([difficulty for difficulty, _, _ in accepted]),
            mean_solve_rate=_mean([right / whole for _, right, whole in accepted]),
        )

    def _solve_rates(self) -> tuple[Count, ...]:
        """Lowest first."""
        found = Counter((right, whole) for rows in self.of_accepted.values() for _, right, whole in rows)
        rates = [(right / whole, f"{right}/{whole}", count) for (right, whole), count in found.items()]
        return tuple(Count(name=name, count=count) for _, name, count in sorted(rates))


def tally(records: Iterable[Record]) -> Tally:
    made = Tally()
    for record in records:
        made.add(record)
    return made


def _mean(values: list[int] | list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _spent(outside: Outside, names: tuple[str, ...]) -> Spent:
    return sum((outside.spent.roles.get(name, Spent()) for name in names), Spent())
