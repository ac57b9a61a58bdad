"""`reranker`: query, passage, and whether the passage holds evidence; for cross-encoders of sentence-transformers.

Rules: sentence-transformers' CrossEncoder "Dataset Format": two texts and a column `label`, here 1 or 0. Pass
`.select_columns(["query", "passage", "label"])` to BinaryCrossEntropyLoss. `evidence` quotes what makes a passage
relevant; it is empty for negatives. For FlagEmbedding's rerankers, `recipes/retriever/forms.py` converts the view
`retriever`.
"""

from collections.abc import Iterator
from typing import Any

from pipeline.exports.relevance import Query, view
from pipeline.types import Record


def split_query(record: Record, query: Query) -> Iterator[tuple[dict[str, Any], list[str]]]:
    hops = [record.draft.hops[number] for number in query.hops] if record.draft else []
    for passage in [*query.positives, *query.negatives]:
        evidence = [hop.quote for hop in hops if hop.passage_id == passage.docid]
        row = {"query": query.text, "passage": passage.contents, "label": int(bool(evidence)), "evidence": evidence}
        yield row | {"docid": passage.docid}, [query.text, passage.contents]


VIEW = view(split_query, query=str, passage=str, label=int, evidence=[str], docid=str, kind=str)
