"""Figures of the shortcuts that seekers found through the accepted pairs."""

import polars as pl

from pipeline.types import Data


class ShortcutFigures(Data):
    """Figures over the accepted pairs that seekers tried."""

    pairs: int
    tries: int
    """Number of seekers' attempts on these pairs."""
    ways: int
    """Number of pairs that a seeker solved."""
    shorter: int
    """Number of pairs that a seeker solved in fewer steps than the solver."""
    more_than: int
    """Number of pairs that no seeker solved."""
    recalled: int
    """Number of pairs that recall solves in fewer steps than any rollout that counts."""
    honest: float | None
    adversarial: float | None
    """Mean steps of solver and seekers, over the pairs that both solved."""
    reward: float | None
    """Mean steps after which a reward pays, over all of the pairs."""
    again: int
    """Number of pairs that fresh seekers tried again after they were accepted."""
    keep_number: int
    """Number of these whose difficulty stayed the same."""


def shortcuts(accepted: pl.LazyFrame) -> ShortcutFigures | None:
    counts = accepted.select("step_counts", "difficulty", "keeps_number").unnest("step_counts")
    tried = counts.filter(pl.col("adversarial_tries") > 0)
    both_solved = pl.col("adversarial_steps").is_not_null() & pl.col("least_steps").is_not_null()
    row = tried.select(
        pairs=pl.len(),
        tries=pl.col("adversarial_tries").sum(),
        ways=pl.col("adversarial_steps").is_not_null().sum(),
        shorter=(pl.col("adversarial_steps") < pl.col("least_steps")).sum(),
        more_than=pl.col("adversarial_steps").is_null().sum(),
        recalled=(pl.col("recall_steps") < pl.col("difficulty")).sum(),
        honest=pl.col("least_steps").filter(both_solved).mean(),
        adversarial=pl.col("adversarial_steps").filter(both_solved).mean(),
        reward=pl.col("reward_steps").mean(),
        again=pl.col("keeps_number").is_not_null().sum(),
        keep_number=pl.col("keeps_number").sum(),
    )
    figures = ShortcutFigures(**row.collect().row(0, named=True))
    return figures if figures.pairs else None
