"""What report and browser show: rounds and diversity. Queries of the table of seeds."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import polars as pl

from pipeline.analysis.estimates import Count, counted
from pipeline.analysis.figures import ACCEPTED
from pipeline.gates.quota import opening
from pipeline.text import normalise


class RoundFigures(NamedTuple):
    """All drafts of one round."""

    became: Counter[str]
    """How many got which label, were `accepted`, or are `none`."""
    mean_steps: float | None
    """Mean over the drafts that were solved of the least steps of their correct rollouts."""


class Diversity(NamedTuple):
    """What the accepted pairs are made of, how they begin, and what they rest on; the most frequent first."""

    operations: tuple[Count, ...]
    answer_types: tuple[Count, ...]
    reasoning: tuple[Count, ...]
    openings: tuple[Count, ...]
    answers: tuple[Count, ...]
    passages: tuple[Count, ...]


def rounds(seeds: pl.LazyFrame) -> dict[int, RoundFigures]:
    drafts = seeds.select(pl.int_ranges("rounds").alias("round"), "labels", "least_steps").explode(
        "round", "labels", "least_steps"
    )
    found = drafts.group_by("round").agg("labels", pl.col("least_steps").mean()).sort("round").drop_nulls("round")
    return {index: RoundFigures(Counter(labels), steps) for index, labels, steps in found.collect().rows()}


def diversity(seeds: pl.LazyFrame) -> Diversity:
    pairs = seeds.filter(ACCEPTED & pl.col("question").is_not_null())
    of_hops = ("hop_titles", "hop_passages")
    hops = pairs.select("key", *of_hops).explode(of_hops)
    title = pl.format("{} [{}]", "hop_titles", "hop_passages").alias("passage")
    as_first_spelled = pl.col("answer").first().over(_each("answer", normalise))
    return Diversity(
        operations=counted(pairs, "operation"),
        answer_types=counted(pairs, "answer_type"),
        reasoning=counted(pairs.drop_nulls("reasoning"), "reasoning"),
        openings=counted(pairs.select(_each("question", opening)), "question"),
        answers=counted(pairs.select(as_first_spelled), "answer"),
        passages=counted(hops.select("key", title).unique(), "passage"),
    )


def entropy(counts: Iterable[Count]) -> float:
    """In bits; 0 where there is nothing, or only one thing."""
    numbers = [one.count for one in counts]
    return -sum(n / sum(numbers) * math.log2(n / sum(numbers)) for n in numbers) + 0.0


def _each(column: str, change: Callable[[str], str]) -> pl.Expr:
    return pl.col(column).map_elements(change, return_dtype=pl.String)
