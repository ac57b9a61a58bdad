"""The accepted pairs for the models to be trained: what was measured for each, as card and report show it."""

from collections.abc import Iterator

import polars as pl

from pipeline.types import KNOWN_TRIES, Data, Share

_ACCEPTED = pl.col("status") == "accepted"


class PolicyFigures(Data):
    """What the latest measurements of one policy say of the accepted pairs."""

    policy: str
    models: tuple[str, ...]
    """More than one where a later checkpoint was tried on some of the pairs only."""
    pairs: Share
    """Of the accepted ones, those that were measured."""
    solve_rate: float
    """Mean over these."""
    never: int
    always: int
    """Of these, those that no rollout solved, and those that all did."""
    least_steps: float | None
    median_steps: float | None
    """Means over the pairs that were solved."""
    not_retrieved: int
    misread: int
    stopped_early: int
    """Failed rollouts by what they lacked: see `SearchFailure`."""
    known: Share
    """Of the pairs with at least three tries from memory, those that most of them knew."""
    dates: tuple[str, ...]
    """First and last day of `digsite remeasure`; none where the run itself measured."""

    @property
    def failed(self) -> int:
        return self.not_retrieved + self.misread + self.stopped_early


def for_policy(seeds: pl.LazyFrame, policy: str) -> pl.LazyFrame:
    """The table with the accepted pairs' steps, and their solve rate and rollouts for the policy of that name, or else
    for the run's own solver: `pair_steps`, `pair_rate`, `pair_correct`, `pair_rollouts`, null where none was made."""
    columns = {"pair_steps": "difficulty", "pair_rate": "solve_rate"}
    columns |= {"pair_correct": "correct_rollouts", "pair_rollouts": "measured_rollouts"}
    measured = _ACCEPTED & pl.col("difficulty").is_not_null()
    if not policy:
        return seeds.with_columns(pl.when(measured).then(pl.col(own)).alias(name) for name, own in columns.items())
    one = pl.element().filter(pl.element().struct.field("policy") == policy)
    found = pl.col("policies").list.eval(one).list.first()
    fields = {"pair_rate": "solve_rate", "pair_correct": "correct", "pair_rollouts": "rollouts"}
    its_own = (pl.when(_ACCEPTED).then(found.struct.field(field)).alias(name) for name, field in fields.items())
    return seeds.with_columns(pl.when(measured).then(pl.col("difficulty")).alias("pair_steps"), *its_own)


def policies(seeds: pl.LazyFrame) -> Iterator[PolicyFigures]:
    accepted = seeds.filter(_ACCEPTED)
    whole = accepted.select(pl.len()).collect().item()
    rows = accepted.select("policies").explode("policies").drop_nulls().unnest("policies")
    asked = pl.col("known_tries") >= KNOWN_TRIES
    days = pl.col("date").filter(pl.col("date") != "")
    found = rows.group_by("policy").agg(
        pl.col("model").unique().sort().alias("models"),
        pl.struct(part=pl.len(), whole=pl.lit(whole)).alias("pairs"),
        pl.col("solve_rate").mean(),
        (pl.col("correct") == 0).sum().alias("never"),
        (pl.col("correct") == pl.col("rollouts")).sum().alias("always"),
        pl.col("least_steps").mean(),
        pl.col("median_steps").mean(),
        pl.col("not_retrieved", "misread", "stopped_early").sum(),
        pl.struct(part=(asked & (pl.col("known") > 1 / 2)).sum(), whole=asked.sum()).alias("known"),
        days.min().alias("first"),
        days.max().alias("last"),
    )
    for row in found.sort("policy").collect().to_dicts():
        dates = tuple(dict.fromkeys(day for day in (row.pop("first"), row.pop("last")) if day))
        yield PolicyFigures(**row, dates=dates)
