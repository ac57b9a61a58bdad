"""The seeds that two runs both tried, one beside the other."""

from typing import Any

import polars as pl

from pipeline.analysis.pairing import GROUPS, joined

PAGE = 25
_SHOWN = ("key", "status", "reason", "question", "target_steps", "difficulty", "solve_rate")


def rows(first: pl.LazyFrame, second: pl.LazyFrame, group: str, page: int) -> list[dict[str, Any]]:
    """Those of one page, from 1; what the second run has ends in `_right`."""
    found = joined(*(table.select("corpus_fingerprint", "passage_id", "draw", *_SHOWN) for table in (first, second)))
    return found.filter(GROUPS[group][1]).slice((page - 1) * PAGE, PAGE).collect().to_dicts()
