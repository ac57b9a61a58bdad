"""`retriever`: queries with the passages that hold their evidence, and hard negatives; for Tevatron.

Rules: Tevatron's `TrainDataset` (`query`, `positive_passages` and `negative_passages` with `title` and `text`), as MS
MARCO and NQ are published for it. FlagEmbedding and BEIR have file formats of their own; `recipes/retriever/forms.py`
writes them from these rows. `kind` tells questions, sub-questions and the solver's searches apart.
"""

from pipeline.agents.environment_file import Environment
from pipeline.exports.relevance import queries
from pipeline.exports.views.base import PROVENANCE, Rows, ViewOptions, provenance
from pipeline.store.arrow import columns
from pipeline.types import Record

PASSAGE = {"docid": str, "title": str, "text": str}
SCHEMA = columns(
    query_id=str,
    query=str,
    positive_passages=[PASSAGE],
    negative_passages=[PASSAGE],
    kind=str,
    hops=[int],
    **PROVENANCE,
)
OPTIONS = ViewOptions(env_specific=False, takes_twins=False)


def rows(record: Record, environment: Environment) -> Rows:
    for number, query in enumerate(queries(record)):
        positives, negatives = (
            [passage._asdict() for passage in passages] for passages in (query.positives, query.negatives)
        )
        yield {
            "query_id": f"{record.key}-{number}",
            "query": query.text,
            "positive_passages": positives,
            "negative_passages": negatives,
            "kind": query.kind,
            "hops": list(query.hops),
            **provenance(record, [query.text, *(passage["text"] for passage in positives + negatives)]),
        }
