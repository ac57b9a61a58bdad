"""The seeds that two runs have in common, and how each ended in either run."""

import math
from collections.abc import Iterable, Mapping

import polars as pl

from pipeline.analysis.contrasts import Contrast, Unit, mean
from pipeline.analysis.estimates import Interval
from pipeline.analysis.figures import ACCEPTED
from pipeline.types import Data, Share

_SAME = ("corpus_fingerprint", "passage_id", "draw")
"""The columns that identify a seed; a mix may hold it twice."""
_ACCEPTED_RIGHT = pl.col("status_right") == "accepted"
_APART = pl.col("difficulty_right") - pl.col("difficulty")
_GROUPS: Mapping[str, pl.Expr] = {
    "seeds": pl.col("status").is_not_null(),
    "both": ACCEPTED & _ACCEPTED_RIGHT,
    "first": ACCEPTED & ~_ACCEPTED_RIGHT,
    "second": ~ACCEPTED & _ACCEPTED_RIGHT,
    "neither": ~ACCEPTED & ~_ACCEPTED_RIGHT,
    "more_steps": _APART > 0,
    "same_steps": _APART == 0,
    "fewer_steps": _APART < 0,
}
"""The seeds that each field of `Paired` counts."""


class Paired(Data):
    """Counts of the seeds that both runs tried: the same passage and draw of the same corpus."""

    seeds: int
    alone: tuple[int, int]
    """Number of seeds that only the first, or only the second run has."""
    both: int
    """Seeds that gave a pair in both runs, in one of them, or in neither."""
    first: int
    second: int
    neither: int
    more_steps: int
    """Seeds with a measured difficulty in both runs, which took more, as many or fewer steps in the second."""
    same_steps: int
    fewer_steps: int
    contrasts: tuple[Contrast, ...]


def pair_seeds(first: pl.DataFrame, second: pl.DataFrame) -> Paired | None:
    """Compare the common seeds of two runs. Return None if there are none."""
    first_seeds, second_seeds = (table.unique(_SAME, keep="first", maintain_order=True) for table in (first, second))
    rows = first_seeds.join(second_seeds, on=_SAME, how="inner", maintain_order="left")
    if not len(rows):
        return None
    counts = rows.select(belongs.sum().alias(name) for name, belongs in _GROUPS.items()).row(0, named=True)
    alone = (first.select(_SAME).n_unique() - len(rows), second.select(_SAME).n_unique() - len(rows))
    return Paired(alone=alone, **counts, contrasts=tuple(_compare_columns(rows)))


def _compare_columns(rows: pl.DataFrame) -> Iterable[Contrast]:
    columns: tuple[tuple[str, str, Unit], ...] = (
        ("gave a pair", "accepted", "share"),
        ("measured steps, where both were measured", "difficulty", "number"),
        ("solve rate, where both were measured", "solve_rate", "share"),
        ("rounds", "rounds", "number"),
        ("tokens", "tokens", "amount"),
    )
    for name, column, unit in columns:
        pairs = rows.select(first=pl.col(column).cast(pl.Float64), second=pl.col(f"{column}_right").cast(pl.Float64))
        pairs = pairs.drop_nulls().with_columns(apart=pl.col("second") - pl.col("first"))
        if not len(pairs):
            continue
        first, second = (mean(pairs, side, 0, 1 if unit == "share" else math.inf) for side in ("first", "second"))
        if column == "accepted":
            shares = (Share(part=int(pairs[side].sum()), whole=len(pairs)) for side in ("first", "second"))
            first, second = map(Interval.of_share, shares)
        yield Contrast(
            name=name, unit=unit, first=first, second=second, difference=mean(pairs, "apart"), cases=len(pairs)
        )
