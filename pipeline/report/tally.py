"""Counts the figures of a run, one record at a time, so that a run of any length fits in memory."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

from pipeline import assess
from pipeline.gates.overused_opening import opening
from pipeline.llm.ledger import Spent
from pipeline.report.figures import Checks, Cost, Count, Diversity, Figures, Outside, Share, Stage, Target
from pipeline.report.opposed import Opposition
from pipeline.report.signatures import Signatures
from pipeline.text import normalise
from pipeline.types import Draft, Label, Lineage, Record, Round, Status, Usage

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
MOST_KEPT = 1000
"""Pieces of usage that wait to be summed together, which is cheaper than one by one."""
STAGES = ("drafted", "audited", "solved", "candidate", "confirmed", "accepted")


class Tally:
    """Counts records; `figures` may be asked for at any time."""

    def __init__(self) -> None:
        self.status: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.funnel: Counter[str] = Counter()
        self.by_target: dict[int, Counter[str]] = defaultdict(Counter)
        self.measured: dict[int, Counter[int]] = defaultdict(Counter)
        self.of_accepted: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self.by_round: dict[int, Counter[str]] = defaultdict(Counter)
        self.steps_by_round: dict[int, list[int]] = defaultdict(list)
        self.solve_rates: Counter[str] = Counter()
        self.sides: Counter[str] = Counter()
        self.checks: Counter[str] = Counter()
        self.usages: dict[str, list[Usage]] = {role: [] for role in ROLES}
        self.diversity: dict[str, Counter[str]] = defaultdict(Counter)
        self.signatures = Signatures()
        self.opposition = Opposition()
        self.lineage: Lineage | None = None

    def add(self, record: Record) -> None:
        self.lineage = self.lineage or record.lineage
        self.status[record.status] += 1
        if record.status is not Status.ACCEPTED:
            self.reasons[record.reason] += 1
        for role, usages in record.usages.items():
            kept = self.usages[role]
            kept += usages
            if len(kept) > MOST_KEPT:
                kept[:] = [Usage.total(kept)]
        self._stages(record)
        self._target(record)
        for past in record.rounds:
            self._round(record, past)
        draft = record.draft
        if record.status is Status.ACCEPTED and draft:
            self.sides[record.seed.side] += 1
            self.signatures.add(record)
            self.opposition.add(record)
            self._diversity(draft)

    def _stages(self, record: Record) -> None:
        """Each record counts for the furthest stage that any of its drafts reached, and all before it."""
        drafted = [past for past in record.rounds if past.draft]
        sound = [past for past in drafted if not any(finding.fatal for finding in past.findings)]
        solved = [past for past in sound if any(verdict.correct for verdict in past.verdicts)]
        reached = {
            "drafted": bool(drafted),
            "audited": bool(sound),
            "solved": bool(solved),
            "candidate": record.confirmed or bool(record.confirmation_verdicts),
            "confirmed": record.confirmed,
            "accepted": record.status is Status.ACCEPTED,
        }
        self.funnel.update(name for name, yes in reached.items() if yes)

    def _target(self, record: Record) -> None:
        target, difficulty, measured = record.seed.target_steps, record.difficulty, record.measured
        accepted = record.status is Status.ACCEPTED
        counts = self.by_target[target]
        counts["planned"] += 1
        counts["accepted" if accepted else record.reason] += 1
        if record.confirmation_verdicts:
            self.checks["measured"] += 1
            self.checks["confirmed"] += record.confirmed
        if (accepted or record.confirmation_verdicts) and difficulty is not None:
            self.measured[target][difficulty] += 1
            if accepted:
                right = sum(verdict.correct for verdict in measured)
                self.of_accepted[target].append((difficulty, right / len(measured)))
                self.solve_rates[f"{right}/{len(measured)}"] += 1

    def _round(self, record: Record, past: Round) -> None:
        counts = self.by_round[past.index]
        if past.draft is None:
            counts["none"] += 1
            return
        accepted = past is record.rounds[-1] and record.confirmed
        label = past.feedback.label if past.feedback else Label.CANDIDATE
        # Preset sage relaxes its last round: there a draft may be accepted although it was found too easy.
        counts.update(["drafts", "accepted" if accepted else label.value])
        steps = [verdict.steps for verdict in past.verdicts if verdict.correct]
        if steps:
            self.steps_by_round[past.index].append(min(steps))
        if past.control:
            self._control(past, record.seed.target_steps)

    def _control(self, past: Round, target: int) -> None:
        if past.draft is None:
            return
        tried = list(zip(past.rollouts, past.verdicts, strict=True))
        if any(finding.fatal for finding in past.findings):
            self.checks["alarms"] += 1
            self.checks["false_alarms"] += assess.feedback(past.draft, tried, target=target) is None
        else:
            early, late = (assess.feedback(past.draft, tried[:n], target=target) for n in (past.decided, len(tried)))
            self.checks["cut"] += 1
            self.checks["saved"] += len(tried) - past.decided
            self.checks["changed"] += (early and early.cause) != (late and late.cause)

    def _diversity(self, draft: Draft) -> None:
        self.diversity["families"][draft.family] += 1
        self.diversity["answer_types"][draft.answer_type] += 1
        self.diversity["openings"][opening(draft.question)] += 1
        self.diversity["answers"][normalise(draft.answer)] += 1
        for relation in {hop.relation for hop in draft.hops if hop.relation}:
            self.diversity["relations"][relation] += 1
        for passage in {f"{hop.title} [{hop.passage_id}]" for hop in draft.hops}:
            self.diversity["passages"][passage] += 1

    def figures(self, outside: Outside = _NOTHING) -> Figures:
        planned = self.status.total()
        return Figures(
            planned=planned,
            accepted=self.status[Status.ACCEPTED],
            rejected=self.status[Status.REJECTED],
            failed=self.status[Status.FAILED],
            dropped=_counts(Counter(outside.dropped)),
            reasons=_counts(self.reasons),
            funnel=(Count(name="planned", count=planned), *(Count(name=s, count=self.funnel[s]) for s in STAGES)),
            targets=tuple(self._target_row(steps) for steps in sorted(self.by_target)),
            rounds=tuple(self._stage_row(index) for index in sorted(self.by_round)),
            solve_rates=tuple(Count(name=name, count=n) for name, n in sorted(self.solve_rates.items(), key=_rate)),
            sides=_counts(self.sides),
            signatures=self.signatures.rows(),
            opposed=self.opposition.rows(),
            checks=self._checks(),
            review=outside.review,
            costs=tuple(
                Cost(role=role, usage=usage, spent=_spent(outside, ROLES[role]))
                for role, usage in ((role, Usage.total(usages)) for role, usages in self.usages.items())
                if usage.calls or role not in ("curator", "teacher")
            ),
            paid=outside.spent,
            diversity=self._diversity_row(),
            lineage=self.lineage,
        )

    def _target_row(self, steps: int) -> Target:
        counts, accepted = self.by_target[steps], self.of_accepted[steps]
        return Target(
            steps=steps,
            planned=counts["planned"],
            accepted=counts["accepted"],
            below_target=counts["below_target"],
            difficulty=tuple(Count(name=str(value), count=n) for value, n in sorted(self.measured[steps].items())),
            mean_difficulty=_mean([difficulty for difficulty, _ in accepted]),
            mean_solve_rate=_mean([rate for _, rate in accepted]),
        )

    def _stage_row(self, index: int) -> Stage:
        counts = self.by_round[index]
        labels = {label.value: counts[label.value] for label in Label if label is not Label.CANDIDATE}
        return Stage(
            index=index,
            drafts=counts["drafts"],
            none=counts["none"],
            candidates=counts[Label.CANDIDATE.value],
            accepted=counts["accepted"],
            mean_steps=_mean(self.steps_by_round[index]),
            **labels,
        )

    def _checks(self) -> Checks:
        c = self.checks
        return Checks(
            confirmed=Share(part=c["confirmed"], whole=c["measured"]),
            false_alarms=Share(part=c["false_alarms"], whole=c["alarms"]),
            early_stop=Share(part=c["changed"], whole=c["cut"]),
            rollouts_saved=c["saved"] / c["cut"] if c["cut"] else None,
        )

    def _diversity_row(self) -> Diversity:
        top = {name: _counts(self.diversity[name]) for name in ("families", "answer_types")}
        most = {name: _counts(self.diversity[name], 8) for name in ("relations", "openings", "answers", "passages")}
        return Diversity(
            pairs=self.status[Status.ACCEPTED],
            **top,
            **most,
            relation_entropy=entropy(self.diversity["relations"]),
            answer_type_entropy=entropy(self.diversity["answer_types"]),
        )


def tally(records: Iterable[Record]) -> Tally:
    counted = Tally()
    for record in records:
        counted.add(record)
    return counted


def entropy(counts: Counter[str]) -> float:
    """In bits; 0 where there is nothing, or only one thing."""
    whole = counts.total()
    return -sum(n / whole * math.log2(n / whole) for n in counts.values() if n) + 0.0


def _counts(counts: Counter[str], most: int | None = None) -> tuple[Count, ...]:
    """Largest first, equal ones by name."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Count(name=name, count=count) for name, count in ordered[:most])


def _mean(values: list[int] | list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _spent(outside: Outside, names: tuple[str, ...]) -> Spent:
    return sum((outside.spent.roles.get(name, Spent()) for name in names), Spent())


def _rate(item: tuple[str, int]) -> tuple[float, str]:
    part, _, whole = item[0].partition("/")
    return int(part) / int(whole), item[0]
