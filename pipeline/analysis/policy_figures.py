"""Measurements of the accepted pairs for the models to be trained, as card and report show them."""

from collections.abc import Iterator

import polars as pl

from pipeline.types import KNOWN_TRIES, Data, Share

_ACCEPTED = pl.col("status") == "accepted"


class PolicyFigures(Data):
    """Figures of one policy, from its latest measurement of each accepted pair."""

    policy: str
    models: tuple[str, ...]
    """More than one if a later checkpoint was measured on some pairs only."""
    pairs: Share
    """Share of the accepted pairs that were measured."""
    solve_rate: float
    """Mean over the measured pairs."""
    never: int
    always: int
    """Number of measured pairs that no rollout solved, and that all rollouts solved."""
    least_steps: float | None
    median_steps: float | None
    """Means over the solved pairs."""
    not_retrieved: int
    misread: int
    stopped_early: int
    """Number of failed rollouts by `SearchFailure`."""
    known: Share
    """Share of pairs that most attempts from memory answered, among pairs with at least three such attempts."""
    dates: tuple[str, ...]
    """First and last day of `digsite remeasure`; empty if the run itself measured."""

    @property
    def failed(self) -> int:
        return self.not_retrieved + self.misread + self.stopped_early


def for_policy(seeds: pl.LazyFrame, policy: str) -> pl.LazyFrame:
    """Add the columns `pair_steps`, `pair_rate`, `pair_correct` and `pair_rollouts` to the table.

    Steps are the difficulty of an accepted pair. The others are its solve rate and rollouts for the policy, or for the
    run's own solver if `policy` is empty; null if there was no such measurement.
    """
    columns = {"pair_steps": "difficulty", "pair_rate": "solve_rate"}
    columns |= {"pair_correct": "correct_rollouts", "pair_rollouts": "measured_rollouts"}
    measured = _ACCEPTED & pl.col("difficulty").is_not_null()
    if not policy:
        return seeds.with_columns(
            pl.when(measured).then(pl.col(source)).alias(name) for name, source in columns.items()
        )
    of_policy = pl.element().filter(pl.element().struct.field("policy") == policy)
    measurement = pl.col("policies").list.eval(of_policy).list.first()
    fields = {"pair_rate": "solve_rate", "pair_correct": "correct", "pair_rollouts": "rollouts"}
    rates = (pl.when(_ACCEPTED).then(measurement.struct.field(field)).alias(name) for name, field in fields.items())
    return seeds.with_columns(pl.when(measured).then(pl.col("difficulty")).alias("pair_steps"), *rates)


def policies(seeds: pl.LazyFrame) -> Iterator[PolicyFigures]:
    accepted = seeds.filter(_ACCEPTED)
    total = accepted.select(pl.len()).collect().item()
    rows = accepted.select("policies").explode("policies").drop_nulls().unnest("policies")
    has_tries = pl.col("known_tries") >= KNOWN_TRIES
    days = pl.col("date").filter(pl.col("date") != "")
    by_policy = rows.group_by("policy").agg(
        pl.col("model").unique().sort().alias("models"),
        pl.struct(part=pl.len(), whole=pl.lit(total)).alias("pairs"),
        pl.col("solve_rate").mean(),
        (pl.col("correct") == 0).sum().alias("never"),
        (pl.col("correct") == pl.col("rollouts")).sum().alias("always"),
        pl.col("least_steps").mean(),
        pl.col("median_steps").mean(),
        pl.col("not_retrieved", "misread", "stopped_early").sum(),
        pl.struct(part=(has_tries & (pl.col("known") > 1 / 2)).sum(), whole=has_tries.sum()).alias("known"),
        days.min().alias("first"),
        days.max().alias("last"),
    )
    for row in by_policy.sort("policy").collect().to_dicts():
        dates = tuple(dict.fromkeys(day for day in (row.pop("first"), row.pop("last")) if day))
        yield PolicyFigures(**row, dates=dates)
