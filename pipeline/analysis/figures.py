"""The figures of a run, as report, data card and command line show them: queries of the table of its seeds."""

from collections import Counter, defaultdict
from itertools import chain

import polars as pl
from pydantic import Field

from pipeline.analysis.distractor_effect import DistractorFigures, distractors
from pipeline.analysis.estimates import Count, Interval, counted, largest_first
from pipeline.analysis.human_marks import Review, reviewed
from pipeline.analysis.one_search import OneSearchFigures, one_search
from pipeline.analysis.policy_figures import PolicyFigures, for_policy, policies
from pipeline.analysis.seed_rows import COUNTS, STAGES
from pipeline.analysis.shortcuts import ShortcutFigures, shortcuts
from pipeline.llm.ledger import Spending, Spent
from pipeline.store.review_marks import Mark
from pipeline.types import ROLES, Data, Lineage, Share, Usage

ACCEPTED = pl.col("status") == "accepted"
FRESH = (pl.col("confirmation_rollouts") > 0) & (pl.col("reason") != "beyond_solver")
"""Fresh rollouts measured it. What `remeasure` opened was measured by another solver and was no candidate."""
MEASURED = pl.col("difficulty").is_not_null() & (ACCEPTED | FRESH)
"""Its difficulty counts: it was accepted, or fell below its target."""
OPTIONAL = ("curator", "seeker", "teacher", "writer", "policy")
"""Roles that many runs do without."""
ASKED = {
    asked: role
    for role, names in {
        "curator": "explore",
        "generator": "propose compose ground",
        "refiner": "revise rewrite",
        "solver": "answer",
        "seeker": "seekers",
        "teacher": "teach",
        "policy": "policies",
        "judge": "verdict",
        "reader": "read steps weigh detect absent choose",
        "writer": "write change alter wordings",
    }.items()
    for asked in names.split()
}
"""The role behind each tool or schema that the ledger goes by."""


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


class Outside(Data):
    """What a run knows beside its records; none of it is under the promise of equal bytes."""

    spent: Spending = Spending()
    dropped: dict[str, int] = Field(default_factory=dict)
    """Passages that the seed filter passed over, by reason, while it drew the seeds of the plan."""
    unread: dict[str, int] = Field(default_factory=dict)
    """Files of the corpus that no reader took, by their ending."""
    marks: tuple[Mark, ...] = ()
    """What people said of pairs, or of what were pairs once."""


class Cost(Data):
    """What one role took: by the records, and what was really paid for where that is known."""

    role: str
    usage: Usage
    spent: Spent


class Signature(Data):
    """The figures by which the literature tells hard search questions from easy ones: means over the correct rollouts
    that difficulty rests on, of the accepted pairs of one split."""

    side: str
    solves: int
    solving_cost: float
    """Searches of a rollout."""
    first_hit: float | None
    """The step that first showed the answer."""
    hit_time: float | None
    """That step as a share of all steps of the rollout."""
    hit_rate: float
    """Mean share of the hops whose evidence such a rollout saw."""
    prior_knowledge: float | None = None
    """Share of the questions that a try of the closed-book check knew; None where nobody tried."""


class TwinFigures(Data):
    """Questions without an answer, of the accepted pairs that were drawn for one."""

    drawn: int
    used: int
    contradicted: int
    """Of the used ones those whose premise a passage excludes; the others' is stated nowhere."""
    refusals: tuple[Count, ...]
    """Why tries were refused."""
    mean_solve_rate: float | None
    """Share of the rollouts that searched and answered "not found"."""


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
    mean_difficulty: float | None
    """Over all accepted pairs that were solved."""
    mean_solve_rate: float | None
    """Over all accepted pairs."""
    solve_rates: tuple[Count, ...]
    """Of the accepted pairs."""
    policy: str
    """For whom these and the targets' means are: a model to be trained, or with no name the run's own solver."""
    policies: tuple[PolicyFigures, ...]
    """By name."""
    signatures: tuple[Signature, ...]
    """By side."""
    shortcuts: ShortcutFigures | None = None
    """None where no seeker tried."""
    one_search: tuple[OneSearchFigures, ...] = ()
    """By retriever of the audit, where it searches several."""
    confirmed: Share
    """Candidates that fresh rollouts confirmed, at or above the target."""
    hardened: tuple[Count, ...] = ()
    """Of the accepted questions that somebody brought: `given` those that stand as they were, the others by the
    operator that last rewrote them."""
    missing: tuple[Count, ...]
    """Accepted pairs that lack rollouts of an optional stage, by stage."""
    distractors: tuple[DistractorFigures, ...]
    """By kind, then of all kinds; none where no distractor was written."""
    policy_distractors: tuple[DistractorFigures, ...] = ()
    """The same rollouts of the models to be trained, by name, where these were tried with the distractors."""
    twins: TwinFigures | None = None
    """None where the run makes none."""
    review: Review | None
    costs: tuple[Cost, ...]
    paid: Spending
    lineages: tuple[Lineage, ...]
    """One for each run, in the order in which they come."""

    @property
    def lineage(self) -> Lineage | None:
        """That of the first run."""
        return self.lineages[0] if self.lineages else None

    @property
    def refused_requests(self) -> int:
        """Requests that a server refused, over all attempts; one that was taken when it was sent again counts too."""
        return self.paid.total.refused

    def points_lost(self) -> dict[str, Interval | None]:
        """Of the solve rate to all kinds of distractor, by the policy; under no name the solver's."""
        found = (*self.distractors, *self.policy_distractors)
        return {one.policy: one.points_lost for one in found if not one.kind}

    @property
    def by_demo(self) -> bool:
        """Did the demo model take part? Then these figures describe the pipeline, not the quality of data."""
        return any(lineage.by_demo for lineage in self.lineages)

    @property
    def usage(self) -> Usage:
        return sum((cost.usage for cost in self.costs), Usage())

    def per_pair(self, amount: float) -> float | None:
        return amount / self.accepted if self.accepted else None


def figures(seeds: pl.LazyFrame, outside: Outside = Outside(), policy: str = "") -> Figures:  # noqa: B008 - frozen
    """What card and report share, over all seeds of the table; the means over pairs are those for the policy of that
    name."""
    seeds = for_policy(seeds, policy)
    status = {count.name: count.count for count in counted(seeds, "status")}
    confirmed, fresh = seeds.filter(FRESH).select((_reached("confirmed")).sum(), pl.len()).collect().row(0)
    accepted, harm = seeds.filter(ACCEPTED), distractors(seeds)
    lineages = seeds.select(Lineage.__slots__).unique("run", keep="first", maintain_order=True).collect().to_dicts()
    return Figures(
        planned=sum(status.values()),
        accepted=status.get("accepted", 0),
        rejected=status.get("rejected", 0),
        failed=status.get("failed", 0),
        dropped=largest_first(outside.dropped),
        reasons=counted(seeds.filter(~ACCEPTED), "reason"),
        funnel=tuple(_funnel(seeds)),
        targets=tuple(_targets(seeds)),
        mean_difficulty=seeds.select(pl.col("pair_steps").mean()).collect().item(),
        mean_solve_rate=seeds.select(pl.col("pair_rate").mean()).collect().item(),
        solve_rates=_solve_rates(seeds),
        policy=policy,
        policies=tuple(policies(seeds)),
        signatures=tuple(_signatures(accepted)),
        shortcuts=shortcuts(accepted),
        one_search=tuple(one_search(accepted)),
        confirmed=Share(part=confirmed, whole=fresh),
        hardened=counted(accepted.filter(pl.col("strategy") == "harden"), "origin"),
        missing=counted(accepted.explode("missing").drop_nulls("missing"), "missing"),
        distractors=tuple(harm.pop("")),
        policy_distractors=tuple(chain(*harm.values())),
        twins=_twins(seeds),
        review=reviewed(outside.marks, set(accepted.select("key").collect()["key"])) if outside.marks else None,
        costs=tuple(_costs(seeds, by_role(outside.spent))),
        paid=outside.spent,
        lineages=tuple(Lineage(**row) for row in lineages),
    )


def _twins(seeds: pl.LazyFrame) -> TwinFigures | None:
    drawn = seeds.filter(ACCEPTED & pl.col("twin").is_not_null())
    states = {count.name: count.count for count in counted(drawn, "twin")}
    if not states:
        return None
    contradicted = states.get("contradicted", 0)
    return TwinFigures(
        drawn=sum(states.values()),
        used=contradicted + states.get("unstated", 0),
        contradicted=contradicted,
        refusals=counted(drawn.explode("twin_refusals").drop_nulls("twin_refusals"), "twin_refusals"),
        mean_solve_rate=drawn.select(pl.col("twin_solve_rate").mean()).collect().item(),
    )


def by_role(spending: Spending) -> dict[str, Spent]:
    total: defaultdict[str, Spent] = defaultdict(Spent)
    for asked, spent in spending.roles.items():
        total[ASKED.get(asked, asked)] += spent
    return total


def _reached(stage: str) -> pl.Expr:
    return pl.col("stage").is_in(STAGES[STAGES.index(stage) :])


def _funnel(seeds: pl.LazyFrame) -> list[Count]:
    found = seeds.select(pl.len().alias("planned"), *(_reached(stage).sum().alias(stage) for stage in STAGES))
    return [Count(name=name, count=count) for name, count in found.collect().row(0, named=True).items()]


def _targets(seeds: pl.LazyFrame) -> list[Target]:
    found = seeds.group_by(pl.col("target_steps").alias("steps")).agg(
        pl.len().alias("planned"),
        ACCEPTED.sum().alias("accepted"),
        pl.col("reason").is_in(["below_target", "below_range"]).sum().alias("below_target"),
        pl.col("difficulty").filter(MEASURED).alias("measured"),
        pl.col("pair_steps").mean().alias("mean_difficulty"),
        pl.col("pair_rate").mean().alias("mean_solve_rate"),
    )
    targets = []
    for row in found.sort("steps").collect().to_dicts():
        steps = sorted(Counter(row.pop("measured")).items())
        targets.append(Target(**row, difficulty=tuple(Count(name=str(step), count=n) for step, n in steps)))
    return targets


def _solve_rates(seeds: pl.LazyFrame) -> tuple[Count, ...]:
    """Of the accepted pairs, lowest first."""
    name = pl.format("{}/{}", "pair_correct", "pair_rollouts").alias("name")
    found = seeds.drop_nulls("pair_rate").group_by("pair_rate", name).len("count").sort("pair_rate", "name")
    return tuple(Count(**row) for row in found.select("name", "count").collect().to_dicts())


def _signatures(accepted: pl.LazyFrame) -> list[Signature]:
    """The split to train on first."""
    side = pl.col("split").alias("side")
    solved = accepted.filter(pl.col("correct_rollouts") > 0).explode("correct_steps", "hit_steps", "hops_seen")
    found = solved.group_by(side).agg(
        pl.len().alias("solves"),
        pl.col("correct_steps").mean().alias("solving_cost"),
        pl.col("hit_steps").mean().alias("first_hit"),
        (pl.col("hit_steps") / pl.col("correct_steps")).mean().alias("hit_time"),
        pl.col("hops_seen").mean().alias("hit_rate"),
    )
    known = accepted.group_by(side).agg(pl.col("prior_knowledge").mean())
    return [Signature(**row) for row in found.join(known, on="side").sort("side", descending=True).collect().to_dicts()]


def _costs(seeds: pl.LazyFrame, spent: dict[str, Spent]) -> list[Cost]:
    columns = [f"{role}_{name}" for role in ROLES for name in COUNTS]
    sums = seeds.select(pl.col(columns).sum()).collect().row(0, named=True)
    usages = {role: Usage(**{name: sums[f"{role}_{name}"] for name in COUNTS}) for role in ROLES}
    return [
        Cost(role=role, usage=usage, spent=spent.get(role, Spent()))
        for role, usage in usages.items()
        if usage.calls or role not in OPTIONAL
    ]
