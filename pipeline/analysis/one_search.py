"""The evidence of accepted pairs that a single search finds, by retriever: a query of the table of seeds."""

import polars as pl

from pipeline.types import Data, Share


class OneSearchFigures(Data):
    """Figures of one retriever over the accepted pairs that the audit searched with it."""

    retriever: str
    last_found: Share
    """Share of pairs for which a search with the question finds the last hop's passage."""
    question_hops: Share
    """Share of hops whose passage a search with the question finds."""
    sub_question_hops: Share
    """Share of hops whose passage a search with their own sub-question finds."""


def one_search(accepted: pl.LazyFrame) -> list[OneSearchFigures]:
    """Return figures per retriever, in the order of the configuration; none if the audit searched with one only."""
    searches = accepted.select("hops", "one_search").explode("one_search").drop_nulls("one_search").unnest("one_search")
    by_retriever = searches.group_by("retriever", maintain_order=True).agg(
        last_found=pl.struct(part=pl.col("question_hops").list.contains(pl.col("hops") - 1).sum(), whole=pl.len()),
        question_hops=pl.struct(part=pl.col("question_hops").list.len().sum(), whole=pl.col("hops").sum()),
        sub_question_hops=pl.struct(part=pl.col("sub_question_hops").list.len().sum(), whole=pl.col("hops").sum()),
    )
    return [OneSearchFigures(**row) for row in by_retriever.collect().to_dicts()]
