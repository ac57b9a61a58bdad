"""`retriever_triplets`: anchor, positive, negative; for sentence-transformers.

Rules: sentence-transformers' "Dataset Format": the first columns, in order, are the texts of the loss. Pass
`.select_columns(["anchor", "positive", "negative"])` to MultipleNegativesRankingLoss. A query has one row per passage
of its evidence, each with another hard negative. A passage is its title and its text, as Digsite's dense indexes
encode it.
"""

from itertools import cycle

from pipeline.agents.environment_file import Environment
from pipeline.exports.relevance import queries
from pipeline.exports.views.base import PROVENANCE, Rows, ViewOptions, provenance
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(anchor=str, positive=str, negative=str, kind=str, **PROVENANCE)
OPTIONS = ViewOptions(env_specific=False, takes_twins=False, needs="a query with a hard negative")


def rows(record: Record, environment: Environment) -> Rows:
    for query in queries(record):
        for positive, negative in zip(query.positives, cycle(query.negatives), strict=False):
            texts = [query.text, positive.contents, negative.contents]
            row = dict(zip(("anchor", "positive", "negative"), texts, strict=True))
            yield {**row, "kind": query.kind, **provenance(record, texts)}
