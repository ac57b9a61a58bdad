"""Comparison of two runs as plain data: differences are second minus first, with 95 % intervals."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson
import polars as pl

from pipeline.analysis.contrasts import Contrast, contrast, mean, share, shares
from pipeline.analysis.estimates import Interval
from pipeline.analysis.figures import ACCEPTED, Figures, Outside, figures
from pipeline.analysis.pairing import Paired, pair_seeds
from pipeline.analysis.policy_figures import for_policy
from pipeline.analysis.seed_rows import COUNTS
from pipeline.config.toml import differences
from pipeline.types import ROLES, Data, Share

RATES = {
    "never": (0.0, 0.0),
    "to 25 %": (0.0001, 0.25),
    "to 50 %": (0.2501, 0.5),
    "to 75 %": (0.5001, 0.75),
    "below 100 %": (0.7501, 0.9999),
    "always": (1.0, 1.0),
}
"""Ranges of solve rates, both ends included. No share of fewer than 2,500 rollouts falls between two ranges."""
_SHOWN = 60
"""Maximum length of a setting's value."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ComparisonInput(NamedTuple):
    """What a comparison needs of a run."""

    name: str
    seeds: pl.LazyFrame
    """With the columns of `seeds.parquet`."""
    outside: Outside
    settings: Mapping[str, Any]
    """The run's settings; empty if they are unknown."""
    policy: str = ""
    """The policy whose solve rates count; empty for the run's own solver."""


class TargetContrast(Data):
    """The seeds of one target."""

    steps: int
    planned: tuple[int, int]
    accepted: Contrast
    mean_steps: Contrast
    """Of the accepted pairs, as is the solve rate."""
    solve_rate: Contrast


class SettingContrast(Data):
    """A setting in which the runs differ. The value is empty if a run does not have it."""

    name: str
    first: str
    second: str


class RunFacts(Data):
    """Facts about one of the two runs."""

    name: str
    models: tuple[str, ...]
    embedded: bool
    planned: int
    accepted: int
    calls: int
    tokens: int
    money: float | None
    """Total cost; None if a price is unknown."""


class Comparison(Data):
    first: RunFacts
    second: RunFacts
    settings: tuple[SettingContrast, ...]
    same_corpus: bool
    figures: tuple[Contrast, ...]
    funnel: tuple[Contrast, ...]
    """By stage, as shares of all planned seeds."""
    ends: tuple[Contrast, ...]
    """By status and reason, as shares of all seeds."""
    roles: tuple[Contrast, ...]
    """Tokens of each role per accepted pair."""
    difficulty: tuple[Contrast, ...]
    """By least steps, as shares of the accepted pairs."""
    solve_rates: tuple[Contrast, ...]
    """By solve rate, as shares of the accepted pairs."""
    reasoning: tuple[Contrast, ...]
    """By the kind of reasoning that a question mainly requires, as shares of the accepted pairs."""
    targets: tuple[TargetContrast, ...]
    paired: Paired | None
    """None if the runs have no seed in common."""


class _Side(NamedTuple):
    facts: RunFacts
    figures: Figures
    rows: pl.DataFrame
    """One row per seed, with `pair_steps`, `pair_rate`, and calls and tokens in total and by role."""


def compare(first_run: ComparisonInput, second_run: ComparisonInput) -> Comparison:
    first, second = _summarise(first_run), _summarise(second_run)
    seeds = first.facts.planned, second.facts.planned
    pairs = first.facts.accepted, second.facts.accepted
    corpora = [{lineage.corpus_fingerprint for lineage in side.figures.lineages} for side in (first, second)]
    return Comparison(
        first=first.facts,
        second=second.facts,
        settings=tuple(_compare_settings(first_run.settings, second_run.settings)),
        same_corpus=not corpora[0].isdisjoint(corpora[1]),
        figures=tuple(_compare_figures(first, second)),
        funnel=shares(*({stage.name: stage.count for stage in side.figures.funnel} for side in (first, second)))[1:],
        ends=shares(_count_ends(first), _count_ends(second), by_number=True, totals=seeds),
        roles=tuple(_compare_roles(first, second)),
        difficulty=shares(*_count_steps(first, second), totals=pairs),
        solve_rates=shares(_count_rates(first), _count_rates(second), totals=pairs),
        reasoning=shares(_count_reasoning(first), _count_reasoning(second), by_number=True, totals=pairs),
        targets=tuple(_compare_targets(first, second)),
        paired=pair_seeds(first.rows, second.rows),
    )


def rate_index(solve_rate: str) -> pl.Expr:
    return pl.sum_horizontal((pl.col(solve_rate) > high).cast(pl.Int32) for _, high in list(RATES.values())[:-1])


def _summarise(run: ComparisonInput) -> _Side:
    run_figures = figures(run.seeds, run.outside, run.policy)
    tokens = {role: [f"{role}_{count}" for count in COUNTS if count.endswith("_tokens")] for role in ROLES}
    rows = for_policy(run.seeds, run.policy).select(
        "key", "status", "reason", "corpus_fingerprint", "passage_id", "draw", "target_steps", "difficulty",
        "solve_rate", "pair_steps", "pair_rate", "naturalness", "rounds", "hops", "reasoning",
        ACCEPTED.alias("accepted"),
        (pl.col("pair_steps") - pl.col("target_steps")).alias("above"),
        pl.sum_horizontal(f"{role}_calls" for role in ROLES).alias("calls"),
        pl.sum_horizontal(name for names in tokens.values() for name in names).alias("tokens"),
        *(pl.sum_horizontal(names).alias(role) for role, names in tokens.items()),
    ).collect()  # fmt: skip
    models = sorted({name for lineage in run_figures.lineages for name in lineage.model.split(" + ")})
    facts = RunFacts(
        name=run.name,
        models=tuple(models),
        embedded=run_figures.by_demo,
        planned=run_figures.planned,
        accepted=run_figures.accepted,
        calls=int(rows["calls"].sum()),
        tokens=int(rows["tokens"].sum()),
        money=run_figures.paid.total.money if run_figures.paid.by_model else None,
    )
    return _Side(facts, run_figures, rows)


def _compare_settings(first_run: Mapping[str, Any], second_run: Mapping[str, Any]) -> Iterator[SettingContrast]:
    if first_run and second_run:
        for name, *values in differences(first_run, second_run):
            first, second = ("" if value is None else orjson.dumps(value).decode() for value in values)
            yield SettingContrast(name=name, first=_shorten(first), second=_shorten(second))


def _shorten(value: str) -> str:
    value = value[1:-1] if value.startswith('"') else value
    value = value[:12] if _DIGEST.fullmatch(value) else value
    return value if len(value) <= _SHOWN else value[:_SHOWN] + "…"


def _mean_per_pair(side: _Side, column: str) -> Interval | None:
    pairs = side.rows["accepted"].cast(pl.Int64).to_list()
    if not any(pairs):
        return None
    return Interval.of(side.rows[column].fill_null(0).cast(pl.Float64).to_list(), pairs).positive()


def _compare_figures(first: _Side, second: _Side) -> Iterator[Contrast]:
    sides = first, second
    accepted = (Share(part=side.facts.accepted, whole=side.facts.planned) for side in sides)
    yield share("seeds that gave a pair", *accepted)
    yield share("candidates accepted", *(side.figures.confirmed for side in sides))
    pairs = [side.rows.filter("accepted") for side in sides]
    yield contrast("measured steps of a pair", "number", *(mean(rows, "pair_steps", 0) for rows in pairs))
    yield contrast("steps beyond the target", "number", *(mean(rows, "above") for rows in pairs))
    yield contrast("solve rate of a pair", "share", *(mean(rows, "pair_rate", 0, 1) for rows in pairs))
    yield contrast("hops of a pair", "number", *(mean(rows, "hops", 0) for rows in pairs))
    if any(rows["naturalness"].count() for rows in pairs):
        yield contrast("naturalness of a pair, of 5", "number", *(mean(rows, "naturalness", 0) for rows in pairs))
    reviews = [side.figures.review for side in sides]
    if any(reviews):
        precisions = (review.precision if review else Share(part=0, whole=0) for review in reviews)
        yield share("right and unique, by people", *precisions)
    if any(side.figures.distractors for side in sides):
        yield contrast("solve rate lost to distractors", "points", *_points_lost(first, second))
    yield contrast("rounds of a seed", "number", *(mean(side.rows, "rounds", 0) for side in sides))
    yield contrast("tokens for a seed", "amount", *(mean(side.rows, "tokens", 0) for side in sides))
    yield contrast("tokens for a pair", "amount", *(_mean_per_pair(side, "tokens") for side in sides))
    yield contrast("calls for a pair", "amount", *(_mean_per_pair(side, "calls") for side in sides))
    if any(side.facts.money for side in sides):
        yield contrast("money for a pair", "number", *map(_money_per_pair, sides))


def _points_lost(first: _Side, second: _Side) -> Iterator[Interval | None]:
    """Yield what policies lost to distractors, or what solvers lost unless both policies were measured with them."""
    losses = [(side.figures.points_lost(), side.figures.policy) for side in (first, second)]
    by_policy = all(lost.get(policy) for lost, policy in losses)
    yield from (lost.get(policy if by_policy else "") for lost, policy in losses)


def _money_per_pair(side: _Side) -> Interval | None:
    # There is no interval, since costs are not known by seed.
    money, pairs = side.facts.money, side.facts.accepted
    return Interval(value=money / pairs) if money is not None and pairs else None


def _compare_roles(first: _Side, second: _Side) -> Iterator[Contrast]:
    for role in ROLES:
        if first.rows[role].sum() or second.rows[role].sum():
            yield contrast(role, "amount", _mean_per_pair(first, role), _mean_per_pair(second, role))


def _count_ends(side: _Side) -> dict[str, int]:
    """Count the seeds by reason, or by status if they have none."""
    reason = pl.when(pl.col("reason").fill_null("") == "").then("status").otherwise("reason")
    return dict(side.rows.group_by(reason.alias("end")).len().rows())


def _count_steps(first: _Side, second: _Side) -> Iterator[dict[str, int]]:
    by_side = [Counter(side.rows["pair_steps"].drop_nulls().cast(pl.Int64)) for side in (first, second)]
    for counts in by_side:
        steps = sorted(by_side[0] | by_side[1])
        yield {f"{step} {'step' if step == 1 else 'steps'}": counts[step] for step in steps}


def _count_rates(side: _Side) -> dict[str, int]:
    counts = dict(side.rows.drop_nulls("pair_rate").group_by(rate_index("pair_rate").alias("index")).len().rows())
    return {name: counts.get(index, 0) for index, name in enumerate(RATES)}


def _count_reasoning(side: _Side) -> dict[str, int]:
    return dict(side.rows.filter("accepted").drop_nulls("reasoning").group_by("reasoning").len().rows())


def _compare_targets(first: _Side, second: _Side) -> Iterator[TargetContrast]:
    for steps in sorted({*first.rows["target_steps"], *second.rows["target_steps"]}):
        rows = [side.rows.filter(pl.col("target_steps") == steps) for side in (first, second)]
        accepted = [Share(part=int(seeds["accepted"].sum()), whole=len(seeds)) for seeds in rows]
        yield TargetContrast(
            steps=steps,
            planned=(accepted[0].whole, accepted[1].whole),
            accepted=share("accepted", *accepted),
            mean_steps=contrast("measured steps", "number", *(mean(seeds, "pair_steps", 0) for seeds in rows)),
            solve_rate=contrast("solve rate", "share", *(mean(seeds, "pair_rate", 0, 1) for seeds in rows)),
        )
