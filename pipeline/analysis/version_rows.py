"""Complete the row of a version in the card's table with what its own seeds gave."""

import polars as pl

from pipeline.analysis.figures import ACCEPTED
from pipeline.types.version import AGAIN, Version, VersionSummary


def complete_version(version: Version, seeds: pl.LazyFrame) -> Version:
    return version.model_copy(update={"summary": complete_summary(version.summary, seeds)})


def complete_summary(summary: VersionSummary, seeds: pl.LazyFrame) -> VersionSummary:
    is_remade = pl.col("plan_order").str.starts_with(AGAIN)
    counts = seeds.filter(ACCEPTED).select(pl.len().alias("pairs"), is_remade.sum().alias("remade")).collect()
    return summary.model_copy(update=counts.row(0, named=True))
