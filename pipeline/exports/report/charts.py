"""Charts of report and browser: rounds and diversity. They are queries of the table of seeds."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import polars as pl

from pipeline.analysis.estimates import Count, count_values
from pipeline.analysis.figures import ACCEPTED
from pipeline.gates.overused_opening import opening
from pipeline.text import normalise


class RoundFigures(NamedTuple):
    """Figures over all drafts of a round."""

    became: Counter[str]
    """Number of drafts by label; `accepted` and `none` (no draft) count as labels."""
    mean_steps: float | None
    """Mean, over the solved drafts, of the least steps of their correct rollouts."""


class Diversity(NamedTuple):
    """Operations, answer types, openings, answers and passages of the accepted pairs, the most frequent first."""

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
    by_round = drafts.group_by("round").agg("labels", pl.col("least_steps").mean()).sort("round").drop_nulls("round")
    return {index: RoundFigures(Counter(labels), steps) for index, labels, steps in by_round.collect().rows()}


def diversity(seeds: pl.LazyFrame) -> Diversity:
    pairs = seeds.filter(ACCEPTED & pl.col("question").is_not_null())
    hop_columns = ("hop_titles", "hop_passages")
    hops = pairs.select("key", *hop_columns).explode(hop_columns)
    title = pl.format("{} [{}]", "hop_titles", "hop_passages").alias("passage")
    first_spelling = pl.col("answer").first().over(_map("answer", normalise))
    return Diversity(
        operations=count_values(pairs, "operation"),
        answer_types=count_values(pairs, "answer_type"),
        reasoning=count_values(pairs.drop_nulls("reasoning"), "reasoning"),
        openings=count_values(pairs.select(_map("question", opening)), "question"),
        answers=count_values(pairs.select(first_spelling), "answer"),
        passages=count_values(hops.select("key", title).unique(), "passage"),
    )


def entropy(counts: Iterable[Count]) -> float:
    numbers = [value.count for value in counts]
    return -sum(n / sum(numbers) * math.log2(n / sum(numbers)) for n in numbers) + 0.0


def _map(column: str, function: Callable[[str], str]) -> pl.Expr:
    return pl.col(column).map_elements(function, return_dtype=pl.String)
