"""The plots of the browser. Every number links to the items that it counts."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl

from pipeline.analysis.comparison import RATES, rate_index
from pipeline.analysis.estimates import count_values
from pipeline.analysis.figures import ACCEPTED
from pipeline.types import Share
from pipeline.view.filters import PLACE, TOKENS
from pipeline.view.query import ItemQuery

PLACES, POINTS = 40, 200
"""The most columns, and points of a curve, at any size of the run."""
_FEWEST_SEEDS = 5
"""The fewest seeds of one column: a share of fewer says nothing."""


class Cell(NamedTuple):
    items: int
    url: str
    shade: int
    """From 0 to 9, by the share of the row, or of the largest number of all."""
    below: bool = False
    """Whether the items measured below their target."""


class Matrix(NamedTuple):
    """The number of items for each pair of two values."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


class Column(NamedTuple):
    """Consecutive seeds of the plan."""

    first: int
    last: int
    accepted: Share
    url: str


class Curve(NamedTuple):
    """The running count of accepted pairs against what they took. Both axes of the points go from 0 to 1."""

    points: tuple[tuple[float, float], ...]
    most: float
    accepted: int


def build_items_url(**chosen: str | tuple[str, ...]) -> str:
    return ItemQuery(
        chosen={name: values if isinstance(values, tuple) else (values,) for name, values in chosen.items()}
    ).url()


def steps_by_target(seeds: pl.LazyFrame) -> Matrix:
    counts = _count_pairs(seeds, pl.col("target_steps"), pl.col("difficulty"))
    return _build_matrix(
        counts,
        rows={target: f"target {target}" for target in sorted({target for target, _ in counts})},
        columns={step: str(step) for step in sorted({step for _, step in counts})},
        query=lambda target, step: ItemQuery(chosen={"target": (str(target),)}, spans={"steps": (step, step)}),
        below=lambda target, step: step < target,
    )


def rates_by_steps(seeds: pl.LazyFrame) -> Matrix:
    counts = _count_pairs(
        seeds.filter(pl.col("solve_rate").is_not_null()), pl.col("difficulty"), rate_index("solve_rate")
    )
    names, spans = list(RATES), list(RATES.values())
    return _build_matrix(
        counts,
        rows={step: f"{step} {'step' if step == 1 else 'steps'}" for step in sorted({step for step, _ in counts})},
        columns={band: names[band] for band in sorted({band for _, band in counts})},
        query=lambda step, band: ItemQuery(spans={"steps": (step, step), "rate": spans[band]}),
    )


def causes_by_round(seeds: pl.LazyFrame) -> Matrix:
    """Count why drafts were sent back, the most frequent cause first."""
    drafts = seeds.select(pl.int_ranges("rounds").alias("round"), "causes").explode("round", "causes")
    counts = _count_pairs(drafts, pl.col("causes"), pl.col("round"))
    total = count_values(drafts.drop_nulls("causes"), "causes")
    return _build_matrix(
        counts,
        rows={cause_count.name: cause_count.name for cause_count in total},
        columns={
            round_index: f"round {round_index}"
            for round_index in range(max((round_index for _, round_index in counts), default=-1) + 1)
        },
        query=lambda cause, round_index: ItemQuery(back=f"{round_index}:{cause}"),
        largest=max(counts.values(), default=None),
    )


def places(seeds: pl.LazyFrame) -> Iterable[Column]:
    last = seeds.select(PLACE.max()).collect().item()
    if last is None:
        return
    size = max(_FEWEST_SEEDS, math.ceil(last / PLACES))
    part = ((PLACE - 1) // size).alias("part")
    totals = seeds.group_by(part).agg(pl.len().alias("seeds"), ACCEPTED.sum().alias("accepted")).sort("part").collect()
    for part_index, seed_count, accepted in totals.drop_nulls("part").rows():
        part_start, part_end = part_index * size + 1, (part_index + 1) * size
        url = ItemQuery(spans={"place": (part_start, part_end)}).url()
        yield Column(part_start, min(part_end, last), Share(part=accepted, whole=seed_count), url)


def by_tokens(seeds: pl.LazyFrame) -> Curve | None:
    rows = seeds.select(TOKENS.fill_null(0).alias("spent"), ACCEPTED.alias("accepted"), PLACE.alias("place"))
    return _build_curve(rows.sort("place", maintain_order=True).select(pl.col("spent").cum_sum(), "accepted"))


def by_seconds(attempts: pl.LazyFrame | None) -> Curve | None:
    """Return accepted pairs over the seconds since the first attempt, including pauses between two commands."""
    if attempts is None:
        return None
    began = pl.col("began").str.to_datetime(time_zone="UTC", strict=False).dt.epoch("ms") / 1000
    rows = attempts.select((began + pl.col("seconds")).alias("at"), began.alias("began"), "ended").drop_nulls()
    rows = rows.select(spent=pl.col("at") - pl.col("began").min(), accepted=pl.col("ended") == "accepted")
    return _build_curve(rows.sort("spent"))


def _build_curve(rows: pl.LazyFrame) -> Curve | None:
    totals = rows.with_columns(pl.col("accepted").cum_sum()).collect()
    if not len(totals) or not (most := float(totals["spent"][-1])):
        return None
    accepted = int(totals["accepted"][-1])
    step = max(1, len(totals) // POINTS)
    sampled = pl.concat([totals.gather_every(step), totals.tail(1)])
    points = [(spent / most, count / max(1, accepted)) for spent, count in sampled.rows()]
    return Curve(((0.0, 0.0), *points), most, accepted)


def _count_pairs(rows: pl.LazyFrame, first: pl.Expr, second: pl.Expr) -> dict[tuple[Any, Any], int]:
    counts = rows.select(first.alias("first"), second.alias("second")).drop_nulls().group_by("first", "second").len()
    return {(one_value, other_value): count for one_value, other_value, count in counts.collect().rows()}


def _build_matrix(
    counts_by_pair: Mapping[tuple[Any, Any], int],
    rows: Mapping[Any, str],
    columns: Mapping[Any, str],
    query: Callable[[Any, Any], ItemQuery],
    below: Callable[[Any, Any], bool] = lambda *_: False,
    largest: int | None = None,
) -> Matrix:
    """Lay out counts by the values of row and column. Cells are shaded by their share of `largest`, or of their row."""

    def cells(row: Any) -> Iterable[Cell]:
        counts = {column: counts_by_pair.get((row, column), 0) for column in columns}
        full_shade = largest or max(1, sum(counts.values()))
        for column, count in counts.items():
            yield Cell(count, query(row, column).url(), min(9, math.ceil(9 * count / full_shade)), below(row, column))

    return Matrix(tuple(columns.values()), tuple((name, tuple(cells(row))) for row, name in rows.items()))
