"""What the plots of the browser show: every number has the address of the items that it counts."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl

from pipeline.analysis.comparison import RATES, rate
from pipeline.analysis.estimates import counted
from pipeline.analysis.figures import ACCEPTED
from pipeline.types import Share
from pipeline.view.filters import PLACE, TOKENS
from pipeline.view.query import ItemQuery

PLACES, POINTS = 40, 200
"""At most so many columns, and points of a curve, whatever the size of the run."""
_LEAST = 5
"""Seeds of one column: a share of fewer says nothing."""


class Cell(NamedTuple):
    items: int
    url: str
    shade: int
    """From 0 to 9, by its share of its row, or of the largest number of all."""
    below: bool = False
    """Measured below the target."""


class Matrix(NamedTuple):
    """How many items have one value and another."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


class Column(NamedTuple):
    """Seeds that follow each other in the plan."""

    first: int
    last: int
    accepted: Share
    url: str


class Curve(NamedTuple):
    """Accepted pairs, counted up, against what it took. Both axes go from 0 to 1 in the points."""

    points: tuple[tuple[float, float], ...]
    most: float
    accepted: int


def filtered(**chosen: str | tuple[str, ...]) -> str:
    """The address of the items with these values."""
    return ItemQuery(chosen={name: one if isinstance(one, tuple) else (one,) for name, one in chosen.items()}).url()


def steps_by_target(seeds: pl.LazyFrame) -> Matrix:
    found = _pairs(seeds, pl.col("target_steps"), pl.col("difficulty"))
    return _matrix(
        found,
        rows={target: f"target {target}" for target in sorted({target for target, _ in found})},
        columns={step: str(step) for step in sorted({step for _, step in found})},
        query=lambda target, step: ItemQuery(chosen={"target": (str(target),)}, spans={"steps": (step, step)}),
        below=lambda target, step: step < target,
    )


def rates_by_steps(seeds: pl.LazyFrame) -> Matrix:
    """Solve rates in `RATES`, by measured steps; what was never solved has none."""
    found = _pairs(seeds.filter(pl.col("solve_rate").is_not_null()), pl.col("difficulty"), rate("solve_rate"))
    names, spans = list(RATES), list(RATES.values())
    return _matrix(
        found,
        rows={step: f"{step} {'step' if step == 1 else 'steps'}" for step in sorted({step for step, _ in found})},
        columns={place: names[place] for place in sorted({place for _, place in found})},
        query=lambda step, place: ItemQuery(spans={"steps": (step, step), "rate": spans[place]}),
    )


def causes_by_round(seeds: pl.LazyFrame) -> Matrix:
    """Why drafts were sent back, the commonest cause first."""
    drafts = seeds.select(pl.int_ranges("rounds").alias("round"), "causes").explode("round", "causes")
    found = _pairs(drafts, pl.col("causes"), pl.col("round"))
    total = counted(drafts.drop_nulls("causes"), "causes")
    return _matrix(
        found,
        rows={one.name: one.name for one in total},
        columns={index: f"round {index}" for index in range(max((index for _, index in found), default=-1) + 1)},
        query=lambda cause, index: ItemQuery(back=f"{index}:{cause}"),
        whole=max(found.values(), default=None),
    )


def places(seeds: pl.LazyFrame) -> Iterable[Column]:
    """The share of accepted pairs along the plan."""
    last = seeds.select(PLACE.max()).collect().item()
    if last is None:
        return
    size = max(_LEAST, math.ceil(last / PLACES))
    part = ((PLACE - 1) // size).alias("part")
    found = seeds.group_by(part).agg(pl.len().alias("seeds"), ACCEPTED.sum().alias("accepted")).sort("part").collect()
    for number, whole, accepted in found.drop_nulls("part").rows():
        first, end = number * size + 1, (number + 1) * size
        url = ItemQuery(spans={"place": (first, end)}).url()
        yield Column(first, min(end, last), Share(part=accepted, whole=whole), url)


def by_tokens(seeds: pl.LazyFrame) -> Curve | None:
    rows = seeds.select(TOKENS.fill_null(0).alias("spent"), ACCEPTED.alias("accepted"), PLACE.alias("place"))
    return _curve(rows.sort("place", maintain_order=True).select(pl.col("spent").cum_sum(), "accepted"))


def by_seconds(attempts: pl.LazyFrame | None) -> Curve | None:
    """Seconds since the first attempt began, pauses between two runs of the command included."""
    if attempts is None:
        return None
    began = pl.col("began").str.to_datetime(time_zone="UTC", strict=False).dt.epoch("ms") / 1000
    rows = attempts.select((began + pl.col("seconds")).alias("at"), began.alias("began"), "ended").drop_nulls()
    rows = rows.select(spent=pl.col("at") - pl.col("began").min(), accepted=pl.col("ended") == "accepted")
    return _curve(rows.sort("spent"))


def _curve(rows: pl.LazyFrame) -> Curve | None:
    """Of the columns `spent`, which only grows, and `accepted`."""
    found = rows.with_columns(pl.col("accepted").cum_sum()).collect()
    if not len(found) or not (most := float(found["spent"][-1])):
        return None
    accepted = int(found["accepted"][-1])
    step = max(1, len(found) // POINTS)
    kept = pl.concat([found.gather_every(step), found.tail(1)])
    points = [(spent / most, count / max(1, accepted)) for spent, count in kept.rows()]
    return Curve(((0.0, 0.0), *points), most, accepted)


def _pairs(rows: pl.LazyFrame, one: pl.Expr, other: pl.Expr) -> dict[tuple[Any, Any], int]:
    """How many rows have which two values."""
    found = rows.select(one.alias("one"), other.alias("other")).drop_nulls().group_by("one", "other").len()
    return {(first, second): count for first, second, count in found.collect().rows()}


def _matrix(
    found: Mapping[tuple[Any, Any], int],
    rows: Mapping[Any, str],
    columns: Mapping[Any, str],
    query: Callable[[Any, Any], ItemQuery],
    below: Callable[[Any, Any], bool] = lambda *_: False,
    whole: int | None = None,
) -> Matrix:
    """Counts by the values of row and column, which are given with their names; shaded by their share of `whole`, or
    of their row."""

    def cells(row: Any) -> Iterable[Cell]:
        counts = {column: found.get((row, column), 0) for column in columns}
        most = whole or max(1, sum(counts.values()))
        for column, count in counts.items():
            yield Cell(count, query(row, column).url(), min(9, math.ceil(9 * count / most)), below(row, column))

    return Matrix(tuple(columns.values()), tuple((name, tuple(cells(row))) for row, name in rows.items()))
