"""The effect of distractors on the solver and on policies, by kind and of all kinds: queries of the table of seeds."""

from collections import Counter
from typing import Any

import polars as pl

from pipeline.analysis.estimates import Count, Interval, largest_first
from pipeline.analysis.seed_rows import TELLING
from pipeline.types import Data, Share


class DistractorFigures(Data):
    """Figures of one kind of distractor, with the paired rollouts of all questions that used one of that kind."""

    kind: str | None
    """None for all kinds together, where each pair of rollouts counts once."""
    policy: str = ""
    """The policy that made the rollouts; empty for the run's own solver."""
    written: int
    used: int
    reasons: tuple[Count, ...]
    """Number of rejected distractors, by check; `unwritten` if the writer gave none."""
    named: Share
    """Share of blind readings that named the distractor."""
    named_used: Share
    """The same share for used distractors only."""
    pairs: int
    """Number of samples that were run both without and with the overlay."""
    met: float | None
    """Share of the rollouts with the overlay that met a distractor."""
    misled: float | None
    """Share of the rollouts that met a distractor and were misled by it."""
    correct_without: float | None
    correct_with: float | None
    points_lost: Interval | None
    """Loss of solve rate, in percentage points."""
    steps_added: Interval | None
    """Mean over all pairs, whether correct or not."""
    example: str | None
    """Key of the first seed with a rollout of the most telling outcome; None if no rollout met a distractor."""


def distractors(seeds: pl.LazyFrame) -> dict[str, list[DistractorFigures]]:
    """Return the figures by policy; the empty name is the run's own solver.

    Each list has one entry per kind, then one for all kinds; it is empty if no distractor was written.
    """
    rollouts = seeds.select("distractor_rollouts").explode("distractor_rollouts").drop_nulls()
    kinds = rollouts.unnest("distractor_rollouts").select(pl.col("kind").unique()).collect()["kind"]
    policies = sorted({kind.rpartition("/")[0] for kind in kinds} - {""})
    return {policy: _summarise_policy(seeds, policy) for policy in ("", *policies)}


def _summarise_policy(seeds: pl.LazyFrame, policy: str) -> list[DistractorFigures]:
    written = seeds.select("distractors").explode("distractors").drop_nulls().unnest("distractors")
    rollouts = seeds.select("key", "distractor_rollouts").explode("distractor_rollouts").drop_nulls()
    ranks = {outcome.value: rank for rank, outcome in enumerate(TELLING)}
    parts = pl.col("kind").str.split("/")
    rollouts = rollouts.unnest("distractor_rollouts").filter(
        (parts.list.first() == policy) & (parts.list.len() > 1) if policy else parts.list.len() == 1
    )
    rollouts = rollouts.with_columns(
        parts.list.last().alias("kind"),
        pl.col("outcome").replace_strict(ranks, default=None).alias("rank"),
        (100 * (pl.col("correct_without").cast(pl.Int64) - pl.col("correct_with").cast(pl.Int64))).alias("lost"),
        (pl.col("steps_with") - pl.col("steps_without")).alias("added"),
    )
    once = rollouts.sort("rank", nulls_last=True, maintain_order=True).unique(["key", "sample"], maintain_order=True)
    all_kinds = pl.lit(None, pl.String).alias("kind")
    by_kind = _group_by_kind(written, rollouts).collect().to_dicts()
    in_total = _group_by_kind(written.with_columns(all_kinds), once.with_columns(all_kinds)).collect().to_dicts()
    return [_build_figures(row, policy) for row in (*by_kind, *in_total)]


def _group_by_kind(written: pl.LazyFrame, rollouts: pl.LazyFrame) -> pl.LazyFrame:
    used = pl.col("rejected_by") == ""
    times_named, readings = pl.col("blind_named"), pl.col("blind_readings")
    has_met = pl.col("outcome").is_not_null()
    ranks = pl.col("rank").filter(has_met)
    counts = written.group_by("kind").agg(
        (pl.col("rejected_by") != "unwritten").sum().alias("written"),
        used.sum().alias("used"),
        pl.col("rejected_by").filter(~used).alias("reasons"),
        pl.struct(part=times_named.sum(), whole=readings.sum()).alias("named"),
        pl.struct(part=times_named.filter(used).sum(), whole=readings.filter(used).sum()).alias("named_used"),
    )
    shares = rollouts.group_by("kind").agg(
        pl.len().alias("pairs"),
        has_met.mean().alias("met"),
        (pl.col("outcome") == "misled").mean().alias("misled"),
        pl.col("correct_without", "correct_with").mean(),
        pl.col("key").filter(has_met).sort_by(ranks, maintain_order=True).first().alias("example"),
    )
    questions = rollouts.group_by("kind", "key").agg(pl.len().alias("samples"), pl.col("lost", "added").sum())
    questions = questions.group_by("kind").agg("samples", "lost", "added")
    joined = counts.join(shares, on="kind", how="left", nulls_equal=True)
    return joined.join(questions, on="kind", how="left", nulls_equal=True).sort("kind")


def _build_figures(row: dict[str, Any], policy: str) -> DistractorFigures:
    samples, lost, added = (row.pop(name) for name in ("samples", "lost", "added"))
    row |= {"reasons": largest_first(Counter(row["reasons"])), "pairs": row["pairs"] or 0}
    return DistractorFigures(
        **row,
        policy=policy,
        points_lost=Interval.of(lost, samples) if samples else None,
        steps_added=Interval.of(added, samples) if samples else None,
    )
