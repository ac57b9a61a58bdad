"""The figures of a run that report, data card and command line show: queries of the table of its seeds."""

from collections import Counter, defaultdict
from itertools import chain

import polars as pl
from pydantic import Field

from pipeline.analysis.distractor_effect import DistractorFigures, distractors
from pipeline.analysis.estimates import Count, Interval, count_values, largest_first
from pipeline.analysis.human_marks import Review, summarise_marks
from pipeline.analysis.one_search import OneSearchFigures, one_search
from pipeline.analysis.policy_figures import PolicyFigures, for_policy, policies
from pipeline.analysis.seed_rows import COUNTS, STAGES
from pipeline.analysis.shortcuts import ShortcutFigures, shortcuts
from pipeline.llm.ledger import Spending, Spent
from pipeline.store.review_marks import Mark
from pipeline.types import ROLES, Data, Lineage, Share, Usage

ACCEPTED = pl.col("status") == "accepted"
CANDIDATE = pl.col("stage").is_in(STAGES[STAGES.index("candidate") :]) & (pl.col("status") != "failed")
"""It seemed hard enough, and its measurement was not cut short."""
MEASURED = pl.col("difficulty").is_not_null() & CANDIDATE
"""Its difficulty counts. Pairs that `remeasure` opened are excluded: another solver measured them."""
OPTIONAL = ("curator", "seeker", "teacher", "writer", "policy")
"""Roles that many runs do not use."""
ROLE_OF_REQUEST = {
    request: role
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
    for request in names.split()
}
"""The role that makes each kind of request; the ledger names requests by a tool or schema."""


class Target(Data):
    """Figures of all seeds with the same target."""

    steps: int
    planned: int
    accepted: int
    below_target: int
    difficulty: tuple[Count, ...]
    """Number of measured seeds by their least steps."""
    mean_difficulty: float | None
    """Mean over the accepted pairs, as is the solve rate."""
    mean_solve_rate: float | None


class Outside(Data):
    """What is known of a run besides its records. None of it is part of the promise of equal bytes."""

    spent: Spending = Spending()
    dropped: dict[str, int] = Field(default_factory=dict)
    """Number of passages that the quality filter skipped while the seeds of the plan were drawn, by reason."""
    unread: dict[str, int] = Field(default_factory=dict)
    """Number of files of the corpus that could not be read, by their ending."""
    marks: tuple[Mark, ...] = ()
    """Marks of reviewers, also on pairs that are no longer accepted."""


class Cost(Data):
    """The cost of one role: `usage` by the records, `spent` as it was really paid."""

    role: str
    usage: Usage
    spent: Spent


class Signature(Data):
    """Figures of one split by which the literature tells hard search questions from easy ones.

    They are means over the correct rollouts that set the difficulty of its accepted pairs.
    """

    side: str
    solves: int
    solving_cost: float
    """Number of searches of a rollout."""
    first_hit: float | None
    """The step that first showed the answer."""
    hit_time: float | None
    """That step as a share of all steps of the rollout."""
    hit_rate: float
    """Share of the hops whose evidence the rollout saw."""
    prior_knowledge: float | None = None
    """Share of the questions that the closed-book check answered; None if it did not run."""


class TwinFigures(Data):
    """Figures of questions without an answer."""

    drawn: int
    """Number of accepted pairs that were drawn for a twin."""
    used: int
    contradicted: int
    """Number of used twins whose premise a passage excludes; no passage states the premise of the others."""
    refusals: tuple[Count, ...]
    """Number of refused attempts, by reason."""
    mean_solve_rate: float | None
    """Share of the rollouts that searched and answered "not found"."""


class Figures(Data):
    planned: int
    accepted: int
    rejected: int
    failed: int
    dropped: tuple[Count, ...]
    """Number of passages that the quality filter skipped, by reason."""
    reasons: tuple[Count, ...]
    funnel: tuple[Count, ...]
    targets: tuple[Target, ...]
    mean_difficulty: float | None
    """Mean over all solved accepted pairs."""
    mean_solve_rate: float | None
    """Mean over all accepted pairs."""
    solve_rates: tuple[Count, ...]
    """Number of accepted pairs by solve rate."""
    policy: str
    """The policy that the solve rates, here and of the targets, are for; empty for the run's own solver."""
    policies: tuple[PolicyFigures, ...]
    """Sorted by name."""
    signatures: tuple[Signature, ...]
    """By split."""
    shortcuts: ShortcutFigures | None = None
    """None if no seeker tried."""
    one_search: tuple[OneSearchFigures, ...] = ()
    """By retriever, if the audit searched with several."""
    confirmed: Share
    """Share of candidates that were accepted, even if a gate dropped them later."""
    hardened: tuple[Count, ...] = ()
    """Number of accepted questions that the user brought, by the operator that last rewrote them; `given` if none."""
    missing: tuple[Count, ...]
    """Number of accepted pairs that lack rollouts of an optional stage, by stage."""
    distractors: tuple[DistractorFigures, ...]
    """By kind, then for all kinds; empty if no distractor was written."""
    policy_distractors: tuple[DistractorFigures, ...] = ()
    """The same for the rollouts of each policy that was measured with the distractors."""
    twins: TwinFigures | None = None
    """None if the run makes no twins."""
    review: Review | None
    costs: tuple[Cost, ...]
    paid: Spending
    lineages: tuple[Lineage, ...]
    """One per run, in the order of the seeds."""

    @property
    def lineage(self) -> Lineage | None:
        return self.lineages[0] if self.lineages else None

    @property
    def refused_requests(self) -> int:
        """Number of requests that a server refused, including those that succeeded in another attempt."""
        return self.paid.total.refused

    def points_lost(self) -> dict[str, Interval | None]:
        """Return the loss of solve rate to all distractors by policy; the empty name is the solver."""
        by_kind = (*self.distractors, *self.policy_distractors)
        return {figures.policy: figures.points_lost for figures in by_kind if not figures.kind}

    @property
    def by_demo(self) -> bool:
        """Whether the demo model took part. If so, the figures describe the pipeline, not the quality of data."""
        return any(lineage.by_demo for lineage in self.lineages)

    @property
    def usage(self) -> Usage:
        return sum((cost.usage for cost in self.costs), Usage())

    def per_pair(self, amount: float) -> float | None:
        return amount / self.accepted if self.accepted else None


def figures(seeds: pl.LazyFrame, outside: Outside = Outside(), policy: str = "") -> Figures:  # noqa: B008 - frozen
    """Compute the figures of all seeds in the table. Solve rates are those for the policy of that name."""
    seeds = for_policy(seeds, policy)
    status = {count.name: count.count for count in count_values(seeds, "status")}
    reached = seeds.filter(CANDIDATE).select(_has_reached("confirmed").sum(), pl.len())
    confirmed, candidates = reached.collect().row(0)
    accepted, by_policy = seeds.filter(ACCEPTED), distractors(seeds)
    lineages = seeds.select(Lineage.__slots__).unique("run", keep="first", maintain_order=True).collect().to_dicts()
    return Figures(
        planned=sum(status.values()),
        accepted=status.get("accepted", 0),
        rejected=status.get("rejected", 0),
        failed=status.get("failed", 0),
        dropped=largest_first(outside.dropped),
        reasons=count_values(seeds.filter(~ACCEPTED), "reason"),
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
        confirmed=Share(part=confirmed, whole=candidates),
        hardened=count_values(accepted.filter(pl.col("strategy") == "harden"), "origin"),
        missing=count_values(accepted.explode("missing").drop_nulls("missing"), "missing"),
        distractors=tuple(by_policy.pop("")),
        policy_distractors=tuple(chain(*by_policy.values())),
        twins=_twins(seeds),
        review=summarise_marks(outside.marks, set(accepted.select("key").collect()["key"])) if outside.marks else None,
        costs=tuple(_costs(seeds, by_role(outside.spent))),
        paid=outside.spent,
        lineages=tuple(Lineage(**row) for row in lineages),
    )


def _twins(seeds: pl.LazyFrame) -> TwinFigures | None:
    drawn = seeds.filter(ACCEPTED & pl.col("twin").is_not_null())
    states = {count.name: count.count for count in count_values(drawn, "twin")}
    if not states:
        return None
    contradicted = states.get("contradicted", 0)
    return TwinFigures(
        drawn=sum(states.values()),
        used=contradicted + states.get("unstated", 0),
        contradicted=contradicted,
        refusals=count_values(drawn.explode("twin_refusals").drop_nulls("twin_refusals"), "twin_refusals"),
        mean_solve_rate=drawn.select(pl.col("twin_solve_rate").mean()).collect().item(),
    )


def by_role(spending: Spending) -> dict[str, Spent]:
    total: defaultdict[str, Spent] = defaultdict(Spent)
    for request, spent in spending.roles.items():
        total[ROLE_OF_REQUEST.get(request, request)] += spent
    return total


def _has_reached(stage: str) -> pl.Expr:
    return pl.col("stage").is_in(STAGES[STAGES.index(stage) :])


def _funnel(seeds: pl.LazyFrame) -> list[Count]:
    counts = seeds.select(pl.len().alias("planned"), *(_has_reached(stage).sum().alias(stage) for stage in STAGES))
    return [Count(name=name, count=count) for name, count in counts.collect().row(0, named=True).items()]


def _targets(seeds: pl.LazyFrame) -> list[Target]:
    by_target = seeds.group_by(pl.col("target_steps").alias("steps")).agg(
        pl.len().alias("planned"),
        ACCEPTED.sum().alias("accepted"),
        pl.col("reason").is_in(["below_target", "below_range"]).sum().alias("below_target"),
        pl.col("difficulty").filter(MEASURED).alias("measured"),
        pl.col("pair_steps").mean().alias("mean_difficulty"),
        pl.col("pair_rate").mean().alias("mean_solve_rate"),
    )
    targets = []
    for row in by_target.sort("steps").collect().to_dicts():
        steps = sorted(Counter(row.pop("measured")).items())
        targets.append(Target(**row, difficulty=tuple(Count(name=str(step), count=n) for step, n in steps)))
    return targets


def _solve_rates(seeds: pl.LazyFrame) -> tuple[Count, ...]:
    name = pl.format("{}/{}", "pair_correct", "pair_rollouts").alias("name")
    counts = seeds.drop_nulls("pair_rate").group_by("pair_rate", name).len("count").sort("pair_rate", "name")
    return tuple(Count(**row) for row in counts.select("name", "count").collect().to_dicts())


def _signatures(accepted: pl.LazyFrame) -> list[Signature]:
    side = pl.col("split").alias("side")
    solved = accepted.filter(pl.col("correct_rollouts") > 0).explode("correct_steps", "hit_steps", "hops_seen")
    means = solved.group_by(side).agg(
        pl.len().alias("solves"),
        pl.col("correct_steps").mean().alias("solving_cost"),
        pl.col("hit_steps").mean().alias("first_hit"),
        (pl.col("hit_steps") / pl.col("correct_steps")).mean().alias("hit_time"),
        pl.col("hops_seen").mean().alias("hit_rate"),
    )
    prior_knowledge = accepted.group_by(side).agg(pl.col("prior_knowledge").mean())
    rows = means.join(prior_knowledge, on="side").sort("side", descending=True).collect().to_dicts()
    return [Signature(**row) for row in rows]


def _costs(seeds: pl.LazyFrame, spent: dict[str, Spent]) -> list[Cost]:
    columns = [f"{role}_{name}" for role in ROLES for name in COUNTS]
    sums = seeds.select(pl.col(columns).sum()).collect().row(0, named=True)
    usages = {role: Usage(**{name: sums[f"{role}_{name}"] for name in COUNTS}) for role in ROLES}
    return [
        Cost(role=role, usage=usage, spent=spent.get(role, Spent()))
        for role, usage in usages.items()
        if usage.calls or role not in OPTIONAL
    ]
