"""Counts the figures that card, page and command line share, one record at a time: a run of any length fits in memory.

An export counts every record, so that all that the page alone shows is counted elsewhere (`Rounds`, `Opposition`,
`Variety`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from pipeline.dataset.figures import Cost, Count, Figures, Outside, Share, Target, counted
from pipeline.dataset.signatures import Signatures
from pipeline.llm.ledger import Spent
from pipeline.types import Lineage, Record, Status, Verdict, correct
from pipeline.types.rollout import UsageCounter, least_steps

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
_CONFIRMED = STAGES.index("confirmed")
T = TypeVar("T")


class End(NamedTuple):
    """How a record ended. Equal ones are counted together, so that a run of any length has few."""

    target: int
    status: Status
    reason: str
    reached: tuple[bool, ...]
    """Of `STAGES`, in their order: the furthest that any of its drafts reached, and all before it."""
    fresh: bool
    """Did fresh rollouts measure it again?"""
    difficulty: int | None
    right: int
    """Correct rollouts of the `whole` that difficulty rests on."""
    whole: int

    @property
    def accepted(self) -> bool:
        return self.status is Status.ACCEPTED

    @property
    def measured(self) -> bool:
        """Does its difficulty count: was it confirmed, accepted or below target?"""
        return self.difficulty is not None and (self.accepted or self.fresh)


class Tally:
    """Counts records; `figures` may be asked for at any time."""

    def __init__(self) -> None:
        self.ends: Counter[End] = Counter()
        self.missing: Counter[str] = Counter()
        self.usages = {role: UsageCounter() for role in ROLES}
        self.signatures = Signatures()
        self.lineage: Lineage | None = None

    def add(self, record: Record) -> None:
        self.lineage = self.lineage or record.lineage
        # What difficulty rests on, for both.
        right = correct(record.measured)
        self.ends[_end(record, right)] += 1
        record.count_usage(self.usages)
        if record.status is Status.ACCEPTED:
            self.signatures.add(record, right)
            self.missing.update(record.missing)

    def figures(self, outside: Outside = _NOTHING) -> Figures:
        ends = self.ends
        planned, status, fresh = ends.total(), _by(ends, lambda end: end.status), _where(ends, lambda end: end.fresh)
        return Figures(
            planned=planned,
            accepted=status[Status.ACCEPTED],
            rejected=status[Status.REJECTED],
            failed=status[Status.FAILED],
            dropped=counted(outside.dropped),
            reasons=counted(_by(_where(ends, lambda end: not end.accepted), lambda end: end.reason)),
            funnel=(Count(name="planned", count=planned), *_funnel(ends)),
            targets=tuple(_target(steps, ends) for steps in sorted({end.target for end in ends})),
            solve_rates=_solve_rates(ends),
            signatures=self.signatures.rows(),
            confirmed=Share(part=_where(fresh, lambda end: end.reached[_CONFIRMED]).total(), whole=fresh.total()),
            missing=counted(self.missing),
            review=outside.review,
            costs=tuple(
                Cost(role=role, usage=usage, spent=_spent(outside, ROLES[role]))
                for role, usage in ((role, spent.sum()) for role, spent in self.usages.items())
                if usage.calls or role not in ("curator", "teacher", "writer")
            ),
            paid=outside.spent,
            lineage=self.lineage,
        )


def tally(records: Iterable[Record]) -> Tally:
    made = Tally()
    for record in records:
        made.add(record)
    return made


def _end(record: Record, right: list[Verdict]) -> End:
    status, confirmed = record.status, record.confirmed
    # What `remeasure` opened was measured by another solver and was no candidate of the run.
    fresh = bool(record.confirmation_verdicts) and record.reason != "beyond_solver"
    drafted = sound = solved = False
    for past in record.rounds:
        if past.draft:
            drafted = True
            if not past.unsound:
                sound, solved = True, solved or bool(correct(past.verdicts))
    reached = (drafted, sound, solved, confirmed or fresh, confirmed, status is Status.ACCEPTED)
    whole, least = len(record.measured), least_steps(right)
    return End(record.seed.target_steps, status, record.reason, reached, fresh, least, len(right), whole)


def _where(ends: Counter[End], holds: Callable[[End], bool]) -> Counter[End]:
    return Counter({end: n for end, n in ends.items() if holds(end)})


def _by(ends: Counter[End], what: Callable[[End], T]) -> Counter[T]:
    counts: Counter[T] = Counter()
    for end, n in ends.items():
        counts[what(end)] += n
    return counts


def _mean(ends: Counter[End], value: Callable[[End], float]) -> float | None:
    return sum(value(end) * n for end, n in ends.items()) / ends.total() if ends else None


def _funnel(ends: Counter[End]) -> Iterator[Count]:
    for place, name in enumerate(STAGES):
        yield Count(name=name, count=sum([n for end, n in ends.items() if end.reached[place]]))


def _target(steps: int, ends: Counter[End]) -> Target:
    here = _where(ends, lambda end: end.target == steps)
    measured = _where(here, lambda end: end.measured)
    accepted, difficulty = _where(measured, lambda end: end.accepted), _by(measured, lambda end: end.difficulty or 0)
    return Target(
        steps=steps,
        planned=here.total(),
        accepted=_where(here, lambda end: end.accepted).total(),
        below_target=_where(here, lambda end: end.reason == "below_target").total(),
        difficulty=tuple(Count(name=str(value), count=n) for value, n in sorted(difficulty.items())),
        mean_difficulty=_mean(accepted, lambda end: end.difficulty or 0),
        mean_solve_rate=_mean(accepted, lambda end: end.right / end.whole),
    )


def _solve_rates(ends: Counter[End]) -> tuple[Count, ...]:
    """Of the accepted pairs, lowest first."""
    found = _by(_where(ends, lambda end: end.accepted and end.measured), lambda end: (end.right, end.whole))
    rates = [(right / whole, f"{right}/{whole}", count) for (right, whole), count in found.items()]
    return tuple(Count(name=name, count=count) for _, name, count in sorted(rates))


def _spent(outside: Outside, names: tuple[str, ...]) -> Spent:
    return sum((outside.spent.roles.get(name, Spent()) for name in names), Spent())
