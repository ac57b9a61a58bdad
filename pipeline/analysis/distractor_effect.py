"""What distractors did to the solver and to the policies: queries of the table of seeds, by kind and of all kinds."""

from collections import Counter
from typing import Any

import polars as pl

from pipeline.analysis.estimates import Count, Interval, largest_first
from pipeline.analysis.seed_rows import TELLING
from pipeline.types import Data, Share


class DistractorFigures(Data):
    """Distractors of one kind, and the paired rollouts of the questions that used one, whatever else they used."""

    kind: str | None
    """None: of all kinds, each pair of rollouts once."""
    policy: str = ""
    """Whose rollouts they are; with no name, those of the run's own solver."""
    written: int
    used: int
    reasons: tuple[Count, ...]
    """By the check that rejected it; `unwritten` where the writer gave nothing to check."""
    named: Share
    """Of the readings in which a blind reader was asked for the distractor, those that named it."""
    named_used: Share
    """The same of those that are used alone."""
    pairs: int
    """Samples that were run without and with the overlay."""
    met: float | None
    """Share of the rollouts among distractors that met one."""
    misled: float | None
    """Share of those."""
    correct_without: float | None
    correct_with: float | None
    points_lost: Interval | None
    """Of the solve rate, in percentage points."""
    steps_added: Interval | None
    """Over all pairs, whether or not a rollout was correct."""
    example: str | None
    """Key of the first seed with a rollout whose outcome tells most; none where no rollout met one."""


def distractors(seeds: pl.LazyFrame) -> dict[str, list[DistractorFigures]]:
    """By kind, then of all kinds, for the solver under no name and each policy under its own; none where no distractor
    was written."""
    rollouts = seeds.select("distractor_rollouts").explode("distractor_rollouts").drop_nulls()
    kinds = rollouts.unnest("distractor_rollouts").select(pl.col("kind").unique()).collect()["kind"]
    policies = sorted({kind.rpartition("/")[0] for kind in kinds} - {""})
    return {policy: _of_policy(seeds, policy) for policy in ("", *policies)}


def _of_policy(seeds: pl.LazyFrame, policy: str) -> list[DistractorFigures]:
    written = seeds.select("distractors").explode("distractors").drop_nulls().unnest("distractors")
    rollouts = seeds.select("key", "distractor_rollouts").explode("distractor_rollouts").drop_nulls()
    telling = {outcome.value: place for place, outcome in enumerate(TELLING)}
    parts = pl.col("kind").str.split("/")
    rollouts = rollouts.unnest("distractor_rollouts").filter(
        (parts.list.first() == policy) & (parts.list.len() > 1) if policy else parts.list.len() == 1
    )
    rollouts = rollouts.with_columns(
        parts.list.last().alias("kind"),
        pl.col("outcome").replace_strict(telling, default=None).alias("place"),
        (100 * (pl.col("correct_without").cast(pl.Int64) - pl.col("correct_with").cast(pl.Int64))).alias("lost"),
        (pl.col("steps_with") - pl.col("steps_without")).alias("added"),
    )
    once = rollouts.sort("place", nulls_last=True, maintain_order=True).unique(["key", "sample"], maintain_order=True)
    of_all = pl.lit(None, pl.String).alias("kind")
    return [
        _of_kind(row, policy)
        for made, tried in ((written, rollouts), (written.with_columns(of_all), once.with_columns(of_all)))
        for row in _by_kind(made, tried).collect().to_dicts()
    ]


def _by_kind(written: pl.LazyFrame, rollouts: pl.LazyFrame) -> pl.LazyFrame:
    used = pl.col("rejected_by") == ""
    named, asked = pl.col("blind_named"), pl.col("blind_readings")
    met = pl.col("outcome").is_not_null()
    tries = written.group_by("kind").agg(
        (pl.col("rejected_by") != "unwritten").sum().alias("written"),
        used.sum().alias("used"),
        pl.col("rejected_by").filter(~used).alias("reasons"),
        pl.struct(part=named.sum(), whole=asked.sum()).alias("named"),
        pl.struct(part=named.filter(used).sum(), whole=asked.filter(used).sum()).alias("named_used"),
    )
    shares = rollouts.group_by("kind").agg(
        pl.len().alias("pairs"),
        met.mean().alias("met"),
        (pl.col("outcome") == "misled").mean().alias("misled"),
        pl.col("correct_without", "correct_with").mean(),
        pl.col("key").filter(met).sort_by(pl.col("place").filter(met), maintain_order=True).first().alias("example"),
    )
    questions = rollouts.group_by("kind", "key").agg(pl.len().alias("of_each"), pl.col("lost", "added").sum())
    questions = questions.group_by("kind").agg("of_each", "lost", "added")
    joined = tries.join(shares, on="kind", how="left", nulls_equal=True)
    return joined.join(questions, on="kind", how="left", nulls_equal=True).sort("kind")


def _of_kind(row: dict[str, Any], policy: str) -> DistractorFigures:
    pairs, lost, added = (row.pop(name) for name in ("of_each", "lost", "added"))
    row |= {"reasons": largest_first(Counter(row["reasons"])), "pairs": row["pairs"] or 0}
    return DistractorFigures(
        **row,
        policy=policy,
        points_lost=Interval.of(lost, pairs) if pairs else None,
        steps_added=Interval.of(added, pairs) if pairs else None,
    )
