"""How much shorter the ways are that seekers found through the accepted pairs."""

import polars as pl

from pipeline.types import Data


class ShortcutFigures(Data):
    """Over the accepted pairs that seekers tried."""

    pairs: int
    tries: int
    """Of seekers, on all of these pairs."""
    ways: int
    """Pairs through which a seeker found a way, so that their adversarial steps are known."""
    shorter: int
    """Of these, pairs whose shortest way takes fewer steps than honest work."""
    more_than: int
    """Pairs through which no seeker found a way."""
    recalled: int
    """Pairs that recall solves in fewer steps than any way that counts."""
    honest: float | None
    adversarial: float | None
    """Mean steps, over the pairs where both are known."""
    reward: float | None
    """Mean steps after which a reward pays, over all of the pairs."""


def shortcuts(accepted: pl.LazyFrame) -> ShortcutFigures | None:
    """Return the figures, or None where no seeker tried."""
    counts = accepted.select("step_counts", "difficulty").unnest("step_counts")
    tried = counts.filter(pl.col("adversarial_tries") > 0)
    both = pl.col("adversarial_steps").is_not_null() & pl.col("least_steps").is_not_null()
    row = tried.select(
        pairs=pl.len(),
        tries=pl.col("adversarial_tries").sum(),
        ways=pl.col("adversarial_steps").is_not_null().sum(),
        shorter=(pl.col("adversarial_steps") < pl.col("least_steps")).sum(),
        more_than=pl.col("adversarial_steps").is_null().sum(),
        recalled=(pl.col("recall_steps") < pl.col("difficulty")).sum(),
        honest=pl.col("least_steps").filter(both).mean(),
        adversarial=pl.col("adversarial_steps").filter(both).mean(),
        reward=pl.col("reward_steps").mean(),
    )
    figures = ShortcutFigures(**row.collect().row(0, named=True))
    return figures if figures.pairs else None
