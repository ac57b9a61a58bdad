"""What the report alone shows: rounds, controls, diversity and distractors. Queries of the table of seeds."""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import polars as pl

from pipeline.dataset.figures import ACCEPTED, Count, Share, counted
from pipeline.dataset.gates.quota import opening
from pipeline.dataset.seeds import TELLING
from pipeline.text import normalise


class RoundFigures(NamedTuple):
    """All drafts of one round."""

    became: Counter[str]
    """How many got which label, were `accepted`, or are `none`."""
    mean_steps: float | None
    """Mean over the drafts that were solved of the least steps of their correct rollouts."""


class Controls(NamedTuple):
    """What the drafts say that ran to the full number of rollouts although a check had sent them back."""

    false_alarms: Share
    """Of the controls that the audit had failed, those that would have become candidates."""
    early_stop: Share
    """Of the controls that the early stop had cut, those for which all rollouts name another cause."""
    rollouts_saved: float | None
    """Mean rollouts per such control that the early stop would not have run."""


class Diversity(NamedTuple):
    """What the accepted pairs are made of, how they begin, and what they rest on; the most frequent first."""

    families: tuple[Count, ...]
    answer_types: tuple[Count, ...]
    relations: tuple[Count, ...]
    openings: tuple[Count, ...]
    answers: tuple[Count, ...]
    passages: tuple[Count, ...]


class DistractorFigures(NamedTuple):
    """Distractors of one kind, and the rollouts of the pairs that used one, whatever other kinds they used."""

    kind: str
    written: int
    used: int
    reasons: dict[str, int]
    """By the check that rejected it; `unwritten` where the writer gave nothing to check."""
    met: float | None
    """Share of the rollouts among distractors that met one."""
    misled: float | None
    """Share of those."""
    correct_without: float | None
    correct_with: float | None
    example: str | None
    """Key of the first seed with a rollout whose outcome tells most."""


def rounds(seeds: pl.LazyFrame) -> dict[int, RoundFigures]:
    drafts = seeds.select(pl.int_ranges("rounds").alias("round"), "labels", "least_steps").explode(
        "round", "labels", "least_steps"
    )
    found = drafts.group_by("round").agg("labels", pl.col("least_steps").mean()).sort("round").drop_nulls("round")
    return {index: RoundFigures(Counter(labels), steps) for index, labels, steps in found.collect().rows()}


def controls(seeds: pl.LazyFrame) -> Controls:
    sums = seeds.select(pl.col("^(audit|early_stop)_.*$").sum()).collect().row(0, named=True)
    whole = sums["early_stop_controls"]
    return Controls(
        false_alarms=Share(part=sums["audit_false_alarms"], whole=sums["audit_controls"]),
        early_stop=Share(part=sums["early_stop_other_causes"], whole=whole),
        rollouts_saved=sums["early_stop_rollouts_saved"] / whole if whole else None,
    )


def diversity(seeds: pl.LazyFrame) -> Diversity:
    pairs = seeds.filter(ACCEPTED & pl.col("question").is_not_null())
    of_hops = ("hop_relations", "hop_titles", "hop_passages")
    hops = pairs.select("key", *of_hops).explode(of_hops)
    title = pl.format("{} [{}]", "hop_titles", "hop_passages").alias("passage")
    as_first_spelled = pl.col("answer").first().over(_each("answer", normalise))
    return Diversity(
        families=counted(pairs, "family"),
        answer_types=counted(pairs, "answer_type"),
        relations=counted(hops.filter(pl.col("hop_relations") != "").unique(["key", "hop_relations"]), "hop_relations"),
        openings=counted(pairs.select(_each("question", opening)), "question"),
        answers=counted(pairs.select(as_first_spelled), "answer"),
        passages=counted(hops.select("key", title).unique(), "passage"),
    )


def entropy(counts: Iterable[Count]) -> float:
    """In bits; 0 where there is nothing, or only one thing."""
    numbers = [one.count for one in counts]
    return -sum(n / sum(numbers) * math.log2(n / sum(numbers)) for n in numbers) + 0.0


def distractors(seeds: pl.LazyFrame) -> list[DistractorFigures]:
    """By kind; none where no distractor was written."""
    tries = seeds.select("distractors").explode("distractors").drop_nulls().unnest("distractors")
    kinds = tries.group_by("kind").agg(
        (pl.col("rejected_by") != "unwritten").sum().alias("written"),
        (pl.col("rejected_by") == "").sum().alias("used"),
        pl.col("rejected_by").filter(pl.col("rejected_by") != "").alias("reasons"),
    )
    rollouts = seeds.select("key", "distractor_rollouts").explode("distractor_rollouts").drop_nulls()
    outcome = pl.col("outcome")
    telling = outcome.replace_strict({one.value: place for place, one in enumerate(TELLING)}, default=None)
    shares = (
        rollouts.unnest("distractor_rollouts")
        .group_by("kind", maintain_order=True)
        .agg(
            outcome.is_not_null().mean().alias("met"),
            (outcome == "misled").mean().alias("misled"),
            pl.col("correct_without", "correct_with").mean(),
            pl.col("key").sort_by(telling, nulls_last=True, maintain_order=True).first().alias("example"),
        )
    )
    rows = kinds.join(shares, on="kind", how="left").sort("kind").collect().to_dicts()
    return [DistractorFigures(**{**row, "reasons": dict(Counter(row["reasons"]).most_common())}) for row in rows]


def _each(column: str, change: Callable[[str], str]) -> pl.Expr:
    return pl.col(column).map_elements(change, return_dtype=pl.String)
