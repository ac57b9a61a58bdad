"""`reranker`: query, passage, and whether the passage holds evidence; for cross-encoders of sentence-transformers.

Rules: sentence-transformers' CrossEncoder "Dataset Format": two texts and a column `label`, here 1 or 0. Pass
`.select_columns(["query", "passage", "label"])` to BinaryCrossEntropyLoss. `evidence` quotes what makes a passage
relevant; it is empty for negatives. For FlagEmbedding's rerankers, `recipes/retriever/forms.py` converts the view
`retriever`.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.relevance import queries
from pipeline.exports.views.base import PROVENANCE, Rows, ViewOptions, provenance
from pipeline.store.arrow import columns
from pipeline.types import Record

SCHEMA = columns(query=str, passage=str, label=int, evidence=[str], docid=str, kind=str, **PROVENANCE)
OPTIONS = ViewOptions(env_specific=False, takes_twins=False)


def rows(record: Record, environment: Environment) -> Rows:
    for query in queries(record):
        hops = [record.draft.hops[number] for number in query.hops] if record.draft else []
        for passage in [*query.positives, *query.negatives]:
            evidence = [hop.quote for hop in hops if hop.passage_id == passage.docid]
            yield {
                "query": query.text,
                "passage": passage.contents,
                "label": int(bool(evidence)),
                "evidence": evidence,
                "docid": passage.docid,
                "kind": query.kind,
                **provenance(record, [query.text, passage.contents]),
            }
