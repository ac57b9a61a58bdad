"""`retriever`: queries with the passages that hold their evidence, and hard negatives; for Tevatron.

Rules: Tevatron's `TrainDataset` (`query`, `positive_passages` and `negative_passages` with `title` and `text`), as MS
MARCO and NQ are published for it. FlagEmbedding and BEIR have file formats of their own; `recipes/retriever/forms.py`
writes them from these rows. `kind` tells questions, sub-questions and the solver's searches apart.
"""

from collections.abc import Iterator
from typing import Any

from pipeline.exports.relevance import Query, view
from pipeline.types import Record

PASSAGE = {"docid": str, "title": str, "text": str}


def to_row(record: Record, query: Query) -> Iterator[tuple[dict[str, Any], list[str]]]:
    row = {
        "query_id": f"{record.key}-{query.number}",
        "query": query.text,
        "positive_passages": [passage._asdict() for passage in query.positives],
        "negative_passages": [passage._asdict() for passage in query.negatives],
        "hops": list(query.hops),
    }
    yield row, [query.text, *(passage.text for passage in (*query.positives, *query.negatives))]


VIEW = view(
    to_row, query_id=str, query=str, positive_passages=[PASSAGE], negative_passages=[PASSAGE], kind=str, hops=[int]
)
