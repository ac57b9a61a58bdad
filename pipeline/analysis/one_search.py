"""What one search finds of accepted pairs, by retriever of the audit: a query of the table of seeds."""

import polars as pl

from pipeline.types import Data, Share


class OneSearchFigures(Data):
    """Of one retriever, over the accepted pairs that it was tried on."""

    retriever: str
    last_found: Share
    """Pairs of which a search with the question finds the last hop's passage."""
    question_hops: Share
    """Hops, of all pairs, whose passage a search with the question finds."""
    sub_question_hops: Share
    """Hops whose passage a search with their own sub-question finds."""


def one_search(accepted: pl.LazyFrame) -> list[OneSearchFigures]:
    """By retriever, as they were configured; none where the audit searched the run's own alone."""
    tried = accepted.select("hops", "one_search").explode("one_search").drop_nulls("one_search").unnest("one_search")
    found = tried.group_by("retriever", maintain_order=True).agg(
        last_found=pl.struct(part=pl.col("question_hops").list.contains(pl.col("hops") - 1).sum(), whole=pl.len()),
        question_hops=pl.struct(part=pl.col("question_hops").list.len().sum(), whole=pl.col("hops").sum()),
        sub_question_hops=pl.struct(part=pl.col("sub_question_hops").list.len().sum(), whole=pl.col("hops").sum()),
    )
    return [OneSearchFigures(**row) for row in found.collect().to_dicts()]
