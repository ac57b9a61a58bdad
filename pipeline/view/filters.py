"""The filters and sort orders of the table of items."""

from typing import NamedTuple

import polars as pl

from pipeline.types import ROLES


class Choice(NamedTuple):
    """A filter by values: it passes rows that have one of the chosen values."""

    name: str
    title: str
    value: pl.Expr
    """Text, never null; a list of texts if a row can have several."""
    several: bool = False


class NumberRange(NamedTuple):
    """A filter by a least and a greatest number. A row without a number passes neither."""

    name: str
    title: str
    value: pl.Expr


def _sum(*counts: str) -> pl.Expr:
    return pl.sum_horizontal(f"{role}_{count}" for role in ROLES for count in counts)


def _text(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null("")


def _distinct(column: str, field: str) -> pl.Expr:
    return pl.col(column).list.eval(pl.element().struct.field(field).drop_nulls().unique()).fill_null([])


CALLS, TOKENS = _sum("calls"), _sum("prompt_tokens", "completion_tokens")
PLACE = pl.col("plan_order").str.extract(r"(\d+)$").cast(pl.Int64) + 1
"""The place in the plan, from 1. Places of seeds outside the run are missing."""
CHOICES = (
    Choice("status", "Status", _text("status")),
    Choice("reason", "Reason", _text("reason")),
    Choice("target", "Target", _text("target_steps")),
    Choice("strategy", "Strategy", _text("strategy")),
    Choice("answer_type", "Answer type", _text("answer_type")),
    Choice("reasoning", "Reasoning", _text("reasoning")),
    Choice("stage", "Stage reached", _text("stage")),
    Choice("split", "Split", _text("split")),
    Choice("twin", "Twin", _text("twin")),
    Choice("kind", "Distractor", _distinct("distractors", "kind"), several=True),
    Choice("outcome", "Met a distractor and", _distinct("distractor_rollouts", "outcome"), several=True),
)
SPANS = (
    NumberRange("steps", "Measured steps", pl.col("difficulty")),
    NumberRange("rate", "Solve rate", pl.col("solve_rate")),
    NumberRange("naturalness", "Naturalness", pl.col("naturalness")),
    NumberRange("rounds", "Rounds", pl.col("rounds")),
    NumberRange("hops", "Hops", pl.col("hops")),
    NumberRange("calls", "Calls", CALLS),
    NumberRange("tokens", "Tokens", TOKENS),
    NumberRange("place", "Place in the plan", PLACE),
)
SEARCHED = ("question", "answer", "key", "passage_id")
"""Columns that a search looks through, beside the titles of the evidence."""
SORTS = {
    "order": pl.col("plan_order"),
    "question": pl.col("question").str.to_lowercase(),
    "answer": pl.col("answer").str.to_lowercase(),
    **{choice.name: choice.value for choice in CHOICES if not choice.several},
    "target": pl.col("target_steps"),
    **{span.name: span.value for span in SPANS},
}
