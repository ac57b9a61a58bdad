"""The seeds that two runs both tried, one beside the other."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from pipeline.dataset.figures import ACCEPTED
from pipeline.dataset.pairing import joined

PAGE = 25
_OTHER = pl.col("status_right") == "accepted"
_APART = pl.col("difficulty_right") - pl.col("difficulty")
GROUPS: Mapping[str, tuple[str, pl.Expr]] = {
    "all": ("all", pl.lit(True)),
    "both": ("a pair in both", ACCEPTED & _OTHER),
    "first": ("in the first alone", ACCEPTED & ~_OTHER),
    "second": ("in the second alone", ~ACCEPTED & _OTHER),
    "neither": ("in none", ~ACCEPTED & ~_OTHER),
    "more": ("more steps in the second", _APART > 0),
    "same": ("as many steps", _APART == 0),
    "fewer": ("fewer steps in the second", _APART < 0),
}
"""By the name in addresses: the name for people, and which pairs of seeds belong to it."""
_SHOWN = ("key", "status", "reason", "question", "target_steps", "difficulty", "solve_rate")


def rows(first: pl.LazyFrame, second: pl.LazyFrame, group: str, page: int) -> list[dict[str, Any]]:
    """Those of one page, from 1; what the second run has ends in `_right`."""
    found = joined(*(table.select("corpus_fingerprint", "passage_id", "draw", *_SHOWN) for table in (first, second)))
    return found.filter(GROUPS[group][1]).slice((page - 1) * PAGE, PAGE).collect().to_dicts()
