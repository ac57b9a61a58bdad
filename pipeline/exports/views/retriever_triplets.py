"""`retriever_triplets`: anchor, positive, negative; for sentence-transformers.

Rules: sentence-transformers' "Dataset Format": the first columns, in order, are the texts of the loss. Pass
`.select_columns(["anchor", "positive", "negative"])` to MultipleNegativesRankingLoss. A query has one row per passage
of its evidence, each with another hard negative. A passage is its title and its text, as Digsite's dense indexes
encode it.
"""

from collections.abc import Iterator
from itertools import cycle

from pipeline.exports.relevance import Query, view
from pipeline.types import Record


def split_query(record: Record, query: Query) -> Iterator[tuple[dict[str, str], list[str]]]:
    for positive, negative in zip(query.positives, cycle(query.negatives), strict=False):
        texts = [query.text, positive.contents, negative.contents]
        yield dict(zip(("anchor", "positive", "negative"), texts, strict=True)), texts


VIEW = view(split_query, "a query with a hard negative", anchor=str, positive=str, negative=str, kind=str)
