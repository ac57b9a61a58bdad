"""What the plots of the browser show: every number has the address of the items that it counts."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl

from pipeline.dataset.comparison import RATES, rate
from pipeline.dataset.figures import ACCEPTED
from pipeline.types import Share
from pipeline.view.browse.columns import PLACE, TOKENS
from pipeline.view.browse.query import Query

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
    return Query(chosen={name: one if isinstance(one, tuple) else (one,) for name, one in chosen.items()}).url()


def steps_by_target(seeds: pl.LazyFrame) -> Matrix:
    found = _pairs(seeds, pl.col("target_steps"), pl.col("difficulty"))
    steps = sorted({step for _, step in found})
    return Matrix(
        tuple(map(str, steps)),
        tuple(
            (f"target {target}", _cells(
                [found.get((target, step), 0) for step in steps],
                [Query(chosen={"target": (str(target),)}, spans={"steps": (step, step)}).url() for step in steps],
                [step < target for step in steps],
            ))
            for target in sorted({target for target, _ in found})
        ),
    )  # fmt: skip


def rates_by_steps(seeds: pl.LazyFrame) -> Matrix:
    """Solve rates in `RATES`, by measured steps; what was never solved has none."""
    found = _pairs(seeds.filter(pl.col("solve_rate").is_not_null()), pl.col("difficulty"), rate("solve_rate"))
    names, spans = list(RATES), list(RATES.values())
    shown = sorted({place for _, place in found})
    return Matrix(
        tuple(names[place] for place in shown),
        tuple(
            (f"{step} {'step' if step == 1 else 'steps'}", _cells(
                [found.get((step, place), 0) for place in shown],
                [Query(spans={"steps": (step, step), "rate": spans[place]}).url() for place in shown],
            ))
            for step in sorted({step for step, _ in found})
        ),
    )  # fmt: skip


def causes_by_round(seeds: pl.LazyFrame) -> Matrix:
    """Why drafts were sent back, the commonest cause first."""
    drafts = seeds.select(pl.int_ranges("rounds").alias("round"), "causes").explode("round", "causes")
    found = _pairs(drafts, pl.col("causes"), pl.col("round"))
    rounds = range(max((index for _, index in found), default=-1) + 1)
    total = {name: sum(found.get((name, index), 0) for index in rounds) for name, _ in found}
    return Matrix(
        tuple(f"round {index}" for index in rounds),
        tuple(
            (name, _cells(
                [found.get((name, index), 0) for index in rounds],
                [Query(back=f"{index}:{name}").url() for index in rounds],
                whole=max(found.values()),
            ))
            for name in sorted(total, key=lambda name: (-total[name], name))
        ),
    )  # fmt: skip


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
        url = Query(spans={"place": (first, end)}).url()
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
    rows = rows.select(
        (pl.col("at") - pl.col("began").min()).alias("spent"), (pl.col("ended") == "accepted").alias("accepted")
    )
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


def _cells(
    counts: list[int], urls: list[str], below: list[bool] | None = None, whole: int | None = None
) -> tuple[Cell, ...]:
    whole = whole or max(1, sum(counts))
    under = below or [False] * len(counts)
    return tuple(
        Cell(count, url, min(9, math.ceil(9 * count / whole)), low)
        for count, url, low in zip(counts, urls, under, strict=True)
    )
