"""The seeds that two runs both tried: what became of each in the one and in the other."""

import math
from collections.abc import Iterable, Mapping

import polars as pl

from pipeline.analysis.contrasts import Contrast, Unit, mean
from pipeline.analysis.estimates import Interval
from pipeline.analysis.figures import ACCEPTED
from pipeline.types import Data, Share

_SAME = ("corpus_fingerprint", "passage_id", "draw")
"""What tells a seed; a mix may hold one twice."""
_OTHER = pl.col("status_right") == "accepted"
_APART = pl.col("difficulty_right") - pl.col("difficulty")
_GROUPS: Mapping[str, pl.Expr] = {
    "seeds": pl.col("status").is_not_null(),
    "both": ACCEPTED & _OTHER,
    "first": ACCEPTED & ~_OTHER,
    "second": ~ACCEPTED & _OTHER,
    "neither": ~ACCEPTED & ~_OTHER,
    "more_steps": _APART > 0,
    "same_steps": _APART == 0,
    "fewer_steps": _APART < 0,
}
"""Which seeds each field of `Paired` counts."""


class Paired(Data):
    """The seeds that both runs tried: the same passage and draw of the same corpus."""

    seeds: int
    alone: tuple[int, int]
    """Seeds that only the one or the other has."""
    both: int
    """Seeds that gave a pair in both, in one alone, in none."""
    first: int
    second: int
    neither: int
    more_steps: int
    """Of the seeds whose difficulty was measured in both, those that took the second run's solver more steps, as many,
    or fewer."""
    same_steps: int
    fewer_steps: int
    contrasts: tuple[Contrast, ...]


def _joined(first: pl.LazyFrame, second: pl.LazyFrame) -> pl.LazyFrame:
    """The seeds that both have, in the order of the first; columns of the second end in `_right`."""
    one, other = (table.unique(_SAME, keep="first", maintain_order=True) for table in (first, second))
    return one.join(other, on=_SAME, how="inner", maintain_order="left")


def paired(first: pl.DataFrame, second: pl.DataFrame) -> Paired | None:
    """Of the seeds of two runs; None where they have none in common."""
    rows = _joined(first.lazy(), second.lazy()).collect()
    if not len(rows):
        return None
    counts = rows.select(belongs.sum().alias(name) for name, belongs in _GROUPS.items()).row(0, named=True)
    alone = (first.select(_SAME).n_unique() - len(rows), second.select(_SAME).n_unique() - len(rows))
    return Paired(alone=alone, **counts, contrasts=tuple(_paired_contrasts(rows)))


def _paired_contrasts(rows: pl.DataFrame) -> Iterable[Contrast]:
    compared: tuple[tuple[str, str, Unit], ...] = (
        ("gave a pair", "accepted", "share"),
        ("measured steps, where both were measured", "difficulty", "number"),
        ("solve rate, where both were measured", "solve_rate", "share"),
        ("rounds", "rounds", "number"),
        ("tokens", "tokens", "amount"),
    )
    for name, column, unit in compared:
        both = rows.select(one=pl.col(column).cast(pl.Float64), other=pl.col(f"{column}_right").cast(pl.Float64))
        both = both.drop_nulls().with_columns(apart=pl.col("other") - pl.col("one"))
        if not len(both):
            continue
        first, second = (mean(both, side, 0, 1 if unit == "share" else math.inf) for side in ("one", "other"))
        if column == "accepted":
            shares = (Share(part=int(both[side].sum()), whole=len(both)) for side in ("one", "other"))
            first, second = map(Interval.of_share, shares)
        yield Contrast(
            name=name, unit=unit, first=first, second=second, difference=mean(both, "apart"), cases=len(both)
        )
