"""Two runs beside each other, as plain data that a command shows: second minus first, with 95 % intervals."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson
import polars as pl

from pipeline.analysis.contrasts import Contrast, contrast, mean, share, shares
from pipeline.analysis.estimates import Interval
from pipeline.analysis.figures import ACCEPTED, Figures, Outside, figures
from pipeline.analysis.pairing import Paired, paired
from pipeline.analysis.policy_figures import for_policy
from pipeline.analysis.seed_rows import COUNTS
from pipeline.config.differences import differences
from pipeline.types import ROLES, Data, Share

RATES = {
    "never": (0.0, 0.0),
    "to 25 %": (0.0001, 0.25),
    "to 50 %": (0.2501, 0.5),
    "to 75 %": (0.5001, 0.75),
    "below 100 %": (0.7501, 0.9999),
    "always": (1.0, 1.0),
}
"""Solve rates; both ends belong to it. No share of fewer than 2,500 rollouts falls between two."""
_SHOWN = 60
"""Letters of a setting's value."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Compared(NamedTuple):
    """What a comparison needs of a run."""

    name: str
    seeds: pl.LazyFrame
    """With the columns of `seeds.parquet`."""
    outside: Outside
    what: Mapping[str, Any]
    """Its settings, as far as they are known."""
    policy: str = ""
    """For whom difficulty counts; with no name, the run's own solver."""


class TargetContrast(Data):
    """The seeds of one wanted number of steps."""

    steps: int
    planned: tuple[int, int]
    accepted: Contrast
    mean_steps: Contrast
    """Of the accepted pairs, as the solve rate."""
    solve_rate: Contrast


class SettingContrast(Data):
    """One in which the runs differ; empty where a run has none of that name."""

    name: str
    first: str
    second: str


class RunFacts(Data):
    """One of the two runs."""

    name: str
    models: tuple[str, ...]
    embedded: bool
    planned: int
    accepted: int
    calls: int
    tokens: int
    money: float | None
    """What was paid; None where a price is not known."""


class Comparison(Data):
    first: RunFacts
    second: RunFacts
    settings: tuple[SettingContrast, ...]
    same_corpus: bool
    figures: tuple[Contrast, ...]
    funnel: tuple[Contrast, ...]
    """By stage, of all seeds that were planned."""
    ends: tuple[Contrast, ...]
    """By status and reason, of all seeds."""
    roles: tuple[Contrast, ...]
    """Tokens for one accepted pair."""
    difficulty: tuple[Contrast, ...]
    """By least steps, of the accepted pairs; the same by solve rate."""
    solve_rates: tuple[Contrast, ...]
    reasoning: tuple[Contrast, ...]
    """By what the questions of the accepted pairs mainly ask of whoever answers them."""
    targets: tuple[TargetContrast, ...]
    paired: Paired | None
    """None where the runs have no seed in common."""


class _Side(NamedTuple):
    facts: RunFacts
    made: Figures
    rows: pl.DataFrame
    """One for each seed, with `pair_steps`, `pair_rate`, calls and tokens, by role too."""


def compare(one: Compared, other: Compared) -> Comparison:
    """`one` is the first."""
    first, second = _side(one), _side(other)
    pairs = first.facts.accepted, second.facts.accepted
    corpora = [{lineage.corpus_fingerprint for lineage in side.made.lineages} for side in (first, second)]
    return Comparison(
        first=first.facts,
        second=second.facts,
        settings=tuple(_settings(one.what, other.what)),
        same_corpus=not corpora[0].isdisjoint(corpora[1]),
        figures=tuple(_figures(first, second)),
        funnel=shares(*({one.name: one.count for one in side.made.funnel} for side in (first, second)))[1:],
        ends=shares(_ends(first), _ends(second), by_number=True, whole=(first.facts.planned, second.facts.planned)),
        roles=tuple(_roles(first, second)),
        difficulty=shares(*_steps(first, second), whole=pairs),
        solve_rates=shares(_rates(first), _rates(second), whole=pairs),
        reasoning=shares(_reasoning(first), _reasoning(second), by_number=True, whole=pairs),
        targets=tuple(_targets(first, second)),
        paired=paired(first.rows, second.rows),
    )


def rate(solve_rate: str) -> pl.Expr:
    """The place in `RATES` of a column of solve rates."""
    return pl.sum_horizontal((pl.col(solve_rate) > high).cast(pl.Int32) for _, high in list(RATES.values())[:-1])


def _side(run: Compared) -> _Side:
    made = figures(run.seeds, run.outside, run.policy)
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
    models = sorted({name for lineage in made.lineages for name in lineage.model.split(" + ")})
    facts = RunFacts(
        name=run.name,
        models=tuple(models),
        embedded=made.by_demo,
        planned=made.planned,
        accepted=made.accepted,
        calls=int(rows["calls"].sum()),
        tokens=int(rows["tokens"].sum()),
        money=made.paid.total.money if made.paid.by_model else None,
    )
    return _Side(facts, made, rows)


def _settings(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[SettingContrast]:
    if one and other:
        for name, *values in differences(one, other):
            first, second = ("" if value is None else orjson.dumps(value).decode() for value in values)
            yield SettingContrast(name=name, first=_cut(first), second=_cut(second))


def _cut(value: str) -> str:
    value = value[1:-1] if value.startswith('"') else value
    value = value[:12] if _DIGEST.fullmatch(value) else value
    return value if len(value) <= _SHOWN else value[:_SHOWN] + "…"


def _per_pair(side: _Side, column: str) -> Interval | None:
    pairs = side.rows["accepted"].cast(pl.Int64).to_list()
    if not any(pairs):
        return None
    return Interval.of(side.rows[column].fill_null(0).cast(pl.Float64).to_list(), pairs).positive()


def _figures(first: _Side, second: _Side) -> Iterator[Contrast]:
    sides = first, second
    made = (Share(part=side.facts.accepted, whole=side.facts.planned) for side in sides)
    yield share("seeds that gave a pair", *made)
    yield share("candidates confirmed", *(side.made.confirmed for side in sides))
    pairs = [side.rows.filter("accepted") for side in sides]
    yield contrast("measured steps of a pair", "number", *(mean(rows, "pair_steps", 0) for rows in pairs))
    yield contrast("steps beyond the target", "number", *(mean(rows, "above") for rows in pairs))
    yield contrast("solve rate of a pair", "share", *(mean(rows, "pair_rate", 0, 1) for rows in pairs))
    yield contrast("hops of a pair", "number", *(mean(rows, "hops", 0) for rows in pairs))
    if any(rows["naturalness"].count() for rows in pairs):
        yield contrast("naturalness of a pair, of 5", "number", *(mean(rows, "naturalness", 0) for rows in pairs))
    if any(side.made.review for side in sides):
        marked = (side.made.review.precision if side.made.review else Share(part=0, whole=0) for side in sides)
        yield share("right and unique, by people", *marked)
    if any(side.made.distractors for side in sides):
        yield contrast("solve rate lost to distractors", "points", *_points_lost(first, second))
    yield contrast("rounds of a seed", "number", *(mean(side.rows, "rounds", 0) for side in sides))
    yield contrast("tokens for a seed", "amount", *(mean(side.rows, "tokens", 0) for side in sides))
    yield contrast("tokens for a pair", "amount", *(_per_pair(side, "tokens") for side in sides))
    yield contrast("calls for a pair", "amount", *(_per_pair(side, "calls") for side in sides))
    if any(side.facts.money for side in sides):
        yield contrast("money for a pair", "number", *map(_money, sides))


def _points_lost(first: _Side, second: _Side) -> Iterator[Interval | None]:
    """To distractors: by the policies that count where both were tried with them, or else by the runs' own solvers."""
    found = [(side.made.points_lost(), side.made.policy) for side in (first, second)]
    both = all(lost.get(policy) for lost, policy in found)
    yield from (lost.get(policy if both else "") for lost, policy in found)


def _money(side: _Side) -> Interval | None:
    """Attempts are not known by seed, so that it has no interval."""
    money, pairs = side.facts.money, side.facts.accepted
    return Interval(value=money / pairs) if money is not None and pairs else None


def _roles(first: _Side, second: _Side) -> Iterator[Contrast]:
    for role in ROLES:
        if first.rows[role].sum() or second.rows[role].sum():
            yield contrast(role, "amount", _per_pair(first, role), _per_pair(second, role))


def _ends(side: _Side) -> dict[str, int]:
    """By the reason; `accepted` has none."""
    reason = pl.when(pl.col("reason").fill_null("") == "").then("status").otherwise("reason")
    return dict(side.rows.group_by(reason.alias("end")).len().rows())


def _steps(first: _Side, second: _Side) -> Iterator[dict[str, int]]:
    """Of each, with the numbers of steps that only the other has."""
    found = [Counter(side.rows["pair_steps"].drop_nulls().cast(pl.Int64)) for side in (first, second)]
    for counts in found:
        steps = sorted(found[0] | found[1])
        yield {f"{step} {'step' if step == 1 else 'steps'}": counts[step] for step in steps}


def _rates(side: _Side) -> dict[str, int]:
    found = dict(side.rows.drop_nulls("pair_rate").group_by(rate("pair_rate").alias("place")).len().rows())
    return {name: found.get(number, 0) for number, name in enumerate(RATES)}


def _reasoning(side: _Side) -> dict[str, int]:
    return dict(side.rows.filter("accepted").drop_nulls("reasoning").group_by("reasoning").len().rows())


def _targets(first: _Side, second: _Side) -> Iterator[TargetContrast]:
    for steps in sorted({*first.rows["target_steps"], *second.rows["target_steps"]}):
        rows = [side.rows.filter(pl.col("target_steps") == steps) for side in (first, second)]
        accepted = [Share(part=int(one["accepted"].sum()), whole=len(one)) for one in rows]
        yield TargetContrast(
            steps=steps,
            planned=(accepted[0].whole, accepted[1].whole),
            accepted=share("accepted", *accepted),
            mean_steps=contrast("measured steps", "number", *(mean(one, "pair_steps", 0) for one in rows)),
            solve_rate=contrast("solve rate", "share", *(mean(one, "pair_rate", 0, 1) for one in rows)),
        )
